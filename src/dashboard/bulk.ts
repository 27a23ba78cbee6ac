/**
 * BULK OPERATIONS: a change of all jobs that match. The page counts them and asks, then the server changes them in batches, even after the
 * page is closed. While it is open, the page shows the progress and can stop it.
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

/** The operation that this page started, while it runs. */
export const bulk = new Watched<BulkOperation | null>(null);

const LOOK_MS = 400;

const WORDS: Readonly<Record<BulkAction, { readonly verb: string; readonly done: string; readonly body: string }>> = {
  retry: {
    verb: "Retry",
    done: "will run again",
    body: "They are pending at once, and their retries count from 0 again. If the cause is not fixed, they will fail again.",
  },
  cancel: {
    verb: "Cancel",
    done: "cancelled",
    body: "Waiting jobs will not run. Running handlers are told to stop; what they have done so far is not undone.",
  },
  delete: {
    verb: "Delete",
    done: "deleted",
    body: "Their payloads, results, errors and logs are deleted, too. This cannot be undone.",
  },
};

/** Those of the given statuses (or of all) that allow the action; null if none does. */
export function statusesFor(action: BulkAction, given: readonly string[] | undefined): readonly Status[] | null {
  const able = STATUSES_OF[action].filter((status) => given === undefined || given.includes(status));
  return able.length === 0 ? null : able;
}

/** Counts, asks, starts, and shows the progress until the end. Returns whether it was started. */
export async function changeAll(action: BulkAction, filter: JobFilter): Promise<boolean> {
  if (bulk.get() !== null) {
    toast("Another bulk operation is running. Wait until it ends, or stop it.", { kind: "failed" });
    return false;
  }
  try {
    const preview = await client.bulk.preview({ action, filter });
    if (preview.matched === 0) {
      toast("No job matches any more.");
      return false;
    }
    if (!(await isConfirmed(action, preview.matched, preview.matchedIsCapped))) return false;
    void follow(await client.bulk.start({ action, filter, all: true }));
    return true;
  } catch (error) {
    noteRefusal(error);
    toast(messageOf(error), { kind: "failed" });
    return false;
  }
}

/** Stops it after its current batch. */
export async function stopBulk({ id }: BulkOperation): Promise<void> {
  await act(
    () => client.bulk.stop(id),
    ({ succeeded }) => `Stopped after ${counted(succeeded, "job")}`,
  );
}

function isConfirmed(action: BulkAction, matched: number, isCapped: boolean): Promise<boolean> {
  const { verb, body } = WORDS[action];
  const which = isCapped ? `more than ${count(matched)} jobs` : counted(matched, "job");
  const no = action === "cancel" ? "Do not cancel" : "Cancel";
  const question = { title: `${verb} ${which}?`, body, yes: `${verb} them`, no, danger: action !== "retry" };
  return ask(action === "delete" ? { ...question, typed: isCapped ? "delete" : String(matched) } : question);
}

async function follow(started: BulkOperation): Promise<void> {
  let now: BulkOperation | null = started;
  bulk.set(now);
  while (now !== null && now.endedAt === null) {
    await new Promise((resolve) => window.setTimeout(resolve, LOOK_MS));
    try {
      now = await client.bulk.get(started.id);
      if (now !== null) bulk.set(now);
    } catch (error) {
      noteRefusal(error);
      // The page already says that the server is away. Tries again until it is back.
    }
  }
  bulk.set(null);
  if (now !== null) showEnd(now);
  void live.refresh();
}

function showEnd({ action, status, succeeded, failed, failures, error }: BulkOperation): void {
  if (status === "failed") toast(`The bulk operation failed: ${messageOf(error ?? "the reason is unknown")}`, { kind: "failed" });
  else if (succeeded > 0 || failed === 0) {
    const { done } = WORDS[action];
    toast(`${counted(succeeded, "job")} ${action === "retry" ? done : `${succeeded === 1 ? "is" : "are"} ${done}`}`);
  }
  if (failed > 0) toast(`${counted(failed, "job")} could not be changed. ${messageOf(failures[0]?.message ?? "")}`, { kind: "failed" });
}
