/**
 * A CHANGE OF ALL JOBS THAT MATCH. It is counted first, meant by whoever looks, and then done by the server in batches: it goes on when the
 * page is closed, can be watched while it is open, and stopped.
 */
import { type BulkAction, STATUSES_OF } from "../core/bulk.ts";
import type { Status } from "../core/job.ts";
import { act } from "./act.ts";
import { type BulkOperation, client, type JobFilter } from "./api.ts";
import { ask } from "./ask.ts";
import { counted } from "../core/counted.ts";
import { count } from "./format.ts";
import { live } from "./live.ts";
import { messageOf } from "./parts/notices.tsx";
import { noteRefusal } from "./session.ts";
import { toast } from "./toasts.ts";
import { Watched } from "./watched.ts";

/** The latest operation that this page began, while it is under way. */
export const bulk = new Watched<BulkOperation | null>(null);

const LOOK_MS = 400;

const WORDS: Readonly<Record<BulkAction, { readonly verb: string; readonly done: string; readonly body: string }>> = {
  retry: {
    verb: "Retry",
    done: "will be run again",
    body: "Each gets a new life: its retries start again, and it waits for a worker at once. If the reason is still there, they will die again.",
  },
  cancel: {
    verb: "Cancel",
    done: "cancelled",
    body: "What waits will not run. Handlers that run are told to stop, and what they did so far stays done.",
  },
  delete: {
    verb: "Delete",
    done: "deleted",
    body: "They go with their payloads, results, errors and logs. This cannot be undone.",
  },
};

/** The statuses among the given ones (all, when none is) in which this can be done; null when there is none. */
export function statusesFor(action: BulkAction, given: readonly string[] | undefined): readonly Status[] | null {
  const able = STATUSES_OF[action].filter((status) => given === undefined || given.includes(status));
  return able.length === 0 ? null : able;
}

/** Counts, asks, begins, and tells how far it is until it has ended. Answers whether it was begun. */
export async function changeAll(action: BulkAction, filter: JobFilter): Promise<boolean> {
  if (bulk.get() !== null) {
    toast("Another change of many jobs is under way. Wait for its end, or stop it.", { kind: "failed" });
    return false;
  }
  try {
    const preview = await client.bulk.preview({ action, filter });
    if (preview.matched === 0) {
      toast("No job fits any more.");
      return false;
    }
    if (!(await isMeant(action, preview.matched, preview.matchedIsCapped))) return false;
    void follow(await client.bulk.start({ action, filter, all: true }));
    return true;
  } catch (error) {
    noteRefusal(error);
    toast(messageOf(error), { kind: "failed" });
    return false;
  }
}

/** Stops it after the batch under way. What was done stays done. */
export async function stopBulk({ id }: BulkOperation): Promise<void> {
  await act(
    () => client.bulk.stop(id),
    ({ succeeded }) => `Stopped after ${counted(succeeded, "job")}`,
  );
}

function isMeant(action: BulkAction, matched: number, isCapped: boolean): Promise<boolean> {
  const { verb, body } = WORDS[action];
  const which = isCapped ? `more than ${count(matched)} jobs` : counted(matched, "job");
  const question = { title: `${verb} ${which}?`, body, yes: `${verb} them`, danger: action !== "retry" };
  return ask(action === "delete" ? { ...question, typed: isCapped ? "delete" : String(matched) } : question);
}

async function follow(begun: BulkOperation): Promise<void> {
  let now: BulkOperation | null = begun;
  bulk.set(now);
  while (now !== null && now.endedAt === null) {
    await new Promise((resolve) => window.setTimeout(resolve, LOOK_MS));
    try {
      now = await client.bulk.get(begun.id);
      if (now !== null) bulk.set(now);
    } catch (error) {
      noteRefusal(error);
      // The page says that the server is away; the operation is looked at again when it is back.
    }
  }
  bulk.set(null);
  if (now !== null) tellEnd(now);
  live.lookNow();
}

function tellEnd({ action, status, succeeded, failed, failures, error }: BulkOperation): void {
  if (status === "failed") toast(`The change of many jobs failed: ${messageOf(error ?? "for an unknown reason")}`, { kind: "failed" });
  else if (succeeded > 0 || failed === 0) {
    const { done } = WORDS[action];
    toast(`${counted(succeeded, "job")} ${action === "retry" ? done : `${succeeded === 1 ? "is" : "are"} ${done}`}`);
  }
  if (failed > 0) toast(`${counted(failed, "job")} could not be changed. ${messageOf(failures[0]?.message ?? "")}`, { kind: "failed" });
}
