import type { Handler } from "../../src/index.ts";
import type { Figure } from "../figure.ts";
import { drain } from "../measure/drain.ts";
import { inBatches } from "../measure/call.ts";
import type { MillraceQueue, MillraceSettings } from "../millrace-queue.ts";
import { PAYLOAD } from "../payload.ts";
import type { Session } from "../session.ts";
import { inWords } from "./stored-many.ts";
import type { Scenario } from "./scenario.ts";

const LOAD = { slots: 100, handlerMs: 0 };
const STEPS = 10;
export const PLAIN_JOBS = "jobs without steps";
export const NOTHING_SUSPENDED = "with none";

/** What durable work costs: a job of ten steps, and jobs that wait. */
export const durable: Scenario = {
  name: "durable",
  isOnPage: true,
  async measure(session) {
    return [...(await drainWithSteps(session)), ...(await drainBesideSuspended(session))];
  },
};

function drainWithSteps(session: Session): Promise<Figure[]> {
  const { seconds } = session.extent;
  const rate = async (queue: MillraceQueue): Promise<number[]> => [await drain(queue, LOAD, seconds)];
  return session.contest(
    [{ what: `drain, 100 slots, jobs of ${STEPS} steps`, unit: "jobs/s" }],
    [session.ours(rate, { steps: STEPS })[0]!, session.otherwise(PLAIN_JOBS, rate)],
  );
}

/** As many sleep as wait for a signal. */
function drainBesideSuspended(session: Session): Promise<Figure[]> {
  const { seconds, stored } = session.extent;
  const each = Math.ceil(stored / 10);
  const rate = async (queue: MillraceQueue): Promise<number[]> => [await drain(queue, LOAD, seconds)];
  const beside = async (queue: MillraceQueue): Promise<number[]> => {
    await suspend(queue, each);
    return rate(queue);
  };
  const what = `drain, 100 slots, beside ${inWords(each)} sleeping and ${inWords(each)} blocked jobs`;
  return session.contest([{ what, unit: "jobs/s" }], [session.ours(beside)[0]!, session.otherwise(NOTHING_SUSPENDED, rate)]);
}

const SUSPENDED: NonNullable<MillraceSettings["handlers"]> = {
  sleeper: ((_, ctx) => ctx.sleep("long", "30d")) satisfies Handler,
  waiter: (async (_, ctx) => void (await ctx.waitFor("never"))) satisfies Handler,
};

async function suspend({ client }: MillraceQueue, each: number): Promise<void> {
  const worker = client.work(SUSPENDED, { concurrency: 1000 });
  for (const type of Object.keys(SUSPENDED)) {
    await inBatches(each, { batch: 5_000, inFlight: 2 }, (size) =>
      client.enqueueMany(Array.from({ length: size }, () => ({ type, payload: PAYLOAD }))),
    );
  }
  const states = async (): Promise<number> => {
    const { counts } = await client.stats();
    return counts.scheduled + counts.blocked;
  };
  while ((await states()) < 2 * each) await new Promise((resolve) => setTimeout(resolve, 100));
  await worker.stop();
}
