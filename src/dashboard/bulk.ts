/**
 * BULK OPERATIONS: a change of all jobs that match. The page counts them and asks, then the server changes them in batches, even after the
 * page is closed. While it is open, the page shows the progress and can stop it.
 */
import { createElement } from "react";
import { BULK_QUEUE, type BulkAction, STATUSES_OF } from "../core/bulk.ts";
import type { JobSummary, Status } from "../core/job.ts";
import type { ChangeOptions } from "../core/manual-change.ts";
import { readStatusFilter, statusWords } from "../core/status-filter.ts";
import { act } from "./act.ts";
import { type BulkOperation, type BulkPreview, client, type JobFilter } from "./api.ts";
import { ask } from "./ask.ts";
import { BulkQuestion, matchedText, type Spread } from "./bulk-question.tsx";
import { counted } from "../core/counted.ts";
import { filterWords, spreadWords } from "./filter-words.ts";
import { live } from "./live.ts";
import { SAMPLE } from "./job-actions.ts";
import { messageOf } from "./parts/notices.tsx";
import { serverNow } from "./server-time.ts";
import { noteRefusal } from "./session.ts";
import { toast } from "./toasts.ts";
import { Watched } from "./watched.ts";

/** The operation that this page started, while it runs. */
export const bulk = new Watched<BulkOperation | null>(null);

const LOOK_MS = 400;

/** How many jobs to retry first, to see whether the cause is gone. */
export const FIRST = 5;
export const FIRST_LABEL = `Retry ${FIRST} first`;

const WORDS: Readonly<Record<BulkAction, { readonly verb: string; readonly done: string }>> = {
  retry: { verb: "Retry", done: "queued for retry" },
  cancel: { verb: "Cancel", done: "cancelled" },
  delete: { verb: "Delete", done: "deleted" },
};

/** The filter for those of the given statuses (or of all) that allow the action; null if none does. */
export function filterFor(action: BulkAction, filter: JobFilter, given: readonly Status[] | undefined): JobFilter | null {
  if (given === undefined) return filter;
  const able = STATUSES_OF[action].filter((status) => given.includes(status));
  return able.length === 0 ? null : { ...filter, status: statusWords(able) };
}

/** Counts, asks, starts, and shows the progress until the end: all that match, or the newest `limit`. Returns whether it was started. */
export async function changeAll(action: BulkAction, filter: JobFilter, limit?: number): Promise<boolean> {
  if (bulk.get() !== null) {
    toast("Another bulk operation is running. Wait until it ends, or stop it.", { kind: "failed" });
    return false;
  }
  try {
    const preview = await client.bulk.preview({ action, filter, limit });
    if (preview.matched === 0) {
      toast("No job matches any more.");
      return false;
    }
    const chosen: Choices = { limit, spread: undefined };
    const options = await confirm(preview, chosen);
    if (options === null) return false;
    void follow(await client.bulk.start({ action, filter, all: true, ...chosen }, options));
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

/** What the user can choose in the dialog. */
interface Choices {
  /** The newest so many; undefined: all. */
  limit: number | undefined;
  spread: Spread | undefined;
}

/** The options of the operation, or null. What else was chosen is noted in `chosen`. */
async function confirm(preview: BulkPreview, chosen: Choices): Promise<ChangeOptions | null> {
  const { action, filter, groupWords, limit, matched, matchedIsCapped } = preview;
  const { verb } = WORDS[action];
  const running = action === "cancel" ? await countRunning(filter) : null;
  const words = filterWords(filter, serverNow(), groupWords);
  const onSpread = (spread: Spread | undefined): void => void (chosen.spread = spread);
  const body = createElement(BulkQuestion, { words, preview, running, sample: await sampleOf(filter), onSpread });
  const no = action === "cancel" ? "Do not cancel" : "Cancel";
  const yes = matched === 1 && !matchedIsCapped ? `${verb} it` : `${verb} them`;
  const isLarge = action === "retry" && limit === null && matched > FIRST;
  const instead = { label: FIRST_LABEL, onChoose: () => void (chosen.limit = FIRST) };
  const question = {
    title: `${verb} ${matchedText(preview)}?`,
    body,
    yes,
    no,
    danger: action !== "retry",
    ...(isLarge ? { instead } : {}),
  };
  return ask(action === "delete" ? { ...question, typed: matchedIsCapped ? "delete" : String(matched) } : question);
}

async function countRunning(filter: JobFilter): Promise<BulkPreview | null> {
  const statuses = readStatusFilter(filter.status);
  if (statuses?.includes("running") === false) return null;
  return client.bulk.preview({ action: "cancel", filter: { ...filter, status: "running" } });
}

/** Some of the jobs. An operation changes no operations, so they are not among them. */
async function sampleOf(filter: JobFilter): Promise<JobSummary[]> {
  const { jobs } = await client.list({ ...filter, limit: filter.internal === true ? 10 * SAMPLE : SAMPLE });
  return jobs.filter(({ queue }) => queue !== BULK_QUEUE).slice(0, SAMPLE);
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

function showEnd({ action, status, spread, succeeded, failed, failures, error }: BulkOperation): void {
  if (status === "failed") toast(`The bulk operation failed: ${messageOf(error ?? "the reason is unknown")}`, { kind: "failed" });
  else if (succeeded > 0 || failed === 0) toast(`${counted(succeeded, "job is", "jobs are")} ${WORDS[action].done}${spreadWords(spread)}`);
  if (failed > 0) toast(`${counted(failed, "job")} could not be changed. ${messageOf(failures[0]?.message ?? "")}`, { kind: "failed" });
}
