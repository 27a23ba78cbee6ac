/** What handlers do that keeps others waiting, on every engine: they block the loop of their process, at the worst of times. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JobInput } from "../../src/client/client.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { STRANGER } from "../history/line.ts";
import type { Script } from "../simulation/handler.ts";
import type { Random } from "../simulation/random.ts";
import { type Deed, noted, type Stage } from "./deed.ts";
import { TYPES, WEBHOOK } from "./jobs.ts";

/** What was lost twice waits for up to minutes before it runs again: a short run rather tries another one. */
const ENDED_WITHIN_MS = 60_000;
const SHORTLY_MS = 8_000;
const LOOK_MS = 50;
/** More than the largest worker takes at once: so there is work for the others as well, behind what that one holds. */
const BACKLOG = 800;
const SHORT_BACKLOG = 60;
/** Several, as not each of them meets its process in the middle of something. */
const BLOCKS = 3;
const SHORT_BLOCKS = 1;

/** While the reports of other jobs are under way, whose deliveries have to be written with them. */
export const LOOP_BLOCKED: Deed = { what: "loop blocked", attempt: (stage) => blockLoop(stage, "block") };
/** Inside a transaction of the handler's own, which has completed its job and is not yet committed. */
export const BLOCKED_IN_TRANSACTION: Deed = { what: "loop blocked in a transaction", attempt: (stage) => blockLoop(stage, "transact") };

/** Work that waits, of jobs that are followed by deliveries. Null when the store does not take it, by another's doing; else the ids of `among`. */
export async function enqueueBacklog({ random, witness, isShort }: Stage, among: readonly JobInput[] = []): Promise<string[] | null> {
  const jobs = Array.from({ length: isShort ? SHORT_BACKLOG : BACKLOG }, () => quickJob(random));
  const places = among.map((job) => [random.int(0, Math.floor(jobs.length / 2)), job] as const).sort(([a], [b]) => b - a);
  for (const [place, job] of places) jobs.splice(place, 0, job);
  try {
    const results = await witness.enqueueMany(jobs);
    if (!results.every(({ ok }) => ok)) return null;
    return results.flatMap((result, index) => (result.ok && among.includes(jobs[index]!) ? result.job.id : []));
  } catch (error) {
    if (error instanceof MillraceError) return null;
    throw error;
  }
}

function quickJob(random: Random): JobInput {
  const payload: Script = { tag: `backlog ${random.next()}`, steps: [["ok", random.int(0, 20)]] };
  // Before all others, so that nobody gets to those who does not get past what a stranger holds of these.
  return { type: random.pick(TYPES), queue: "main", payload, priority: "critical", webhookUrl: WEBHOOK };
}

async function blockLoop(stage: Stage, kind: "block" | "transact"): Promise<boolean> {
  const { random, isShort } = stage;
  const [least, most] = isShort ? [1_000, 2_000] : [3_000, 5_000];
  const blocking = Array.from({ length: isShort ? SHORT_BLOCKS : BLOCKS }, (): JobInput => {
    const payload: Script = { tag: `${kind} ${random.next()}`, steps: [[kind, random.int(least, most)]] };
    return { type: "mail", queue: "main", payload, priority: "critical", maxRetries: 4, retryDelay: 0 };
  });
  const jobs = await enqueueBacklog(stage, blocking);
  return jobs !== null && noted(stage, { what: kind, who: STRANGER, jobs }, () => isOneCompleted(stage, jobs));
}

/** What a handler of these says when it ends well is that it has blocked its loop. Others may have died of what else is done. */
async function isOneCompleted({ witness, isShort }: Stage, ids: readonly string[]): Promise<boolean> {
  for (let left = isShort ? SHORTLY_MS : ENDED_WITHIN_MS; left > 0; left -= LOOK_MS) {
    try {
      const jobs = await Promise.all(ids.map((id) => witness.get(id)));
      if (jobs.some((job) => job?.status === "completed")) return true;
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
    }
    await sleep(LOOK_MS);
  }
  return false;
}
