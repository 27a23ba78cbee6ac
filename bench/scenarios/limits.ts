import type { Client, LimitOptions } from "../../src/index.ts";
import type { Figure } from "../figure.ts";
import { drain, runStretch } from "../measure/drain.ts";
import type { MillraceQueue, MillraceSettings } from "../millrace-queue.ts";
import { PAYLOAD } from "../payload.ts";
import type { Session } from "../session.ts";
import { inWords } from "./stored-many.ts";
import type { Scenario } from "./scenario.ts";

const QUEUE = "default";
const LOAD = { slots: 100, handlerMs: 0 };
/** More than ever run at once. */
const NEVER_REACHED = 100_000;
const JOBS_A_KEY = 10;
const MANY_WORKERS = 8;
export const WITHOUT_LIMITS = "without keys and limits";

/** What limits and keys cost, beside the same jobs without them. */
export const limits: Scenario = {
  name: "limits",
  isOnPage: true,
  async measure(session) {
    return [
      ...(await drainWith(session, "a queue limit that is never reached", { running: NEVER_REACHED }, {})),
      ...(await drainWith(session, "10 keys in turns", null, keysInTurn(10))),
      ...(await drainWith(
        session,
        "1,000 keys, a limit per key that is never reached",
        { perKey: { running: NEVER_REACHED } },
        keysInTurn(1000),
      )),
      ...(await drainManyKeys(session, 1)),
      ...(await drainManyKeys(session, MANY_WORKERS)),
      ...(await drainBehindFullKey(session)),
    ];
  },
};

function keysInTurn(keys: number): MillraceSettings {
  return { limitKey: (job) => `customer-${job % keys}` };
}

function drainWith(session: Session, what: string, wanted: LimitOptions | null, settings: MillraceSettings): Promise<Figure[]> {
  const { seconds } = session.extent;
  const rate = async (queue: MillraceQueue): Promise<number[]> => [await drain(queue, LOAD, seconds)];
  const limited = async (queue: MillraceQueue): Promise<number[]> => {
    if (wanted !== null) await queue.client.configure(QUEUE, { limits: wanted });
    return rate(queue);
  };
  return contest(session, what, session.ours(limited, settings), rate);
}

/** Each key may run one job at a time, so a claim takes one job from each of many lines. With several workers, claims meet at the same lines. */
function drainManyKeys(session: Session, workers: number): Promise<Figure[]> {
  const { stored } = session.extent;
  const keys = Math.ceil(stored / JOBS_A_KEY);
  const rate = async (queue: MillraceQueue): Promise<number[]> => {
    const { jobs, ms } = await runStretch(queue, LOAD, stored);
    return [(jobs * 1000) / ms];
  };
  const limited = async (queue: MillraceQueue): Promise<number[]> => {
    await queue.client.configure(QUEUE, { limits: { perKey: { running: 1 } } });
    return rate(queue);
  };
  const what = `${inWords(keys)} keys, one job at a time each${workers === 1 ? "" : `, ${workers} workers`}`;
  return contest(session, what, session.ours(limited, { ...keysInTurn(keys), workers }), rate, { workers });
}

/** Jobs of other keys behind a backlog that may not start, because a job of its key runs all the time. */
function drainBehindFullKey(session: Session): Promise<Figure[]> {
  const { seconds, stored } = session.extent;
  const rate = async (queue: MillraceQueue): Promise<number[]> => [await drain(queue, LOAD, seconds)];
  const behind = async (queue: MillraceQueue): Promise<number[]> => {
    await queue.client.limits.set(QUEUE, "full", { running: 1 });
    const running = Promise.withResolvers<void>();
    const holder = queue.client.work({ hold: (_, { signal }) => (running.resolve(), untilAborted(signal)) }, { concurrency: 1 });
    await queue.client.enqueue("hold", null, { limitKey: "full", timeout: 0 });
    await running.promise;
    await fillFullKey(queue.client, stored);
    const answer = await rate(queue);
    await holder.stop({ grace: 0 });
    return answer;
  };
  const settings = keysInTurn(10);
  const entrants = session.ours(behind, settings);
  return session.contest(
    [{ what: `drain, 100 slots, 10 keys behind ${inWords(stored)} jobs of a key at its limit`, unit: "jobs/s" }],
    [...entrants, session.otherwise("10 keys alone", rate, { settings })],
    { rounds: 1 },
  );
}

async function fillFullKey(client: Client, jobs: number): Promise<void> {
  for (let left = jobs; left > 0; left -= 10_000) {
    await client.enqueueMany(Array.from({ length: Math.min(left, 10_000) }, () => ({ type: "bench", payload: PAYLOAD, limitKey: "full" })));
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

function contest(
  session: Session,
  what: string,
  ours: ReturnType<Session["ours"]>,
  plain: (queue: MillraceQueue) => Promise<number[]>,
  settings: MillraceSettings = {},
): Promise<Figure[]> {
  const without = session.otherwise(WITHOUT_LIMITS, plain, { settings });
  return session.contest([{ what: `drain, 100 slots, ${what}`, unit: "jobs/s" }], [ours[0]!, without]);
}
