/**
 * A producer process of a run: enqueues jobs one after the other from several callers, and now and then acts on one by hand as an operator
 * does. Argument: MemberWishes as JSON.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { MillraceError } from "../../../src/core/errors.ts";
import type { Random } from "../../simulation/random.ts";
import { burstFor, jobFor, LIMIT_KEYS, LIMITED_QUEUE, PAUSED_QUEUE } from "../jobs.ts";
import { enqueueOne } from "./enqueue.ts";
import { join, untilStopped } from "./member.ts";

const CALLERS = 4;
const MOST_PAUSE_MS = 80;
const ACTS = 0.06;
const BURSTS = 0.003;
/** Jobs that an operator still remembers. */
const KNOWN = 20;
/** What the rules may refuse an operator; a store that is away or full is no error either. */
const EXPECTED: ReadonlySet<string> = new Set(["store_unavailable", "store_full", "wrong_status", "not_found", "queue_full", "closed"]);

const { client, recorder, random } = await join();
const known: string[] = [];
const over = new AbortController();

async function call(chance: Random, name: string): Promise<void> {
  for (let count = 0; !over.signal.aborted; count++) {
    await sleep(chance.next() * MOST_PAUSE_MS);
    const id = await enqueueOne(client, recorder, jobFor(chance, `${recorder.by}-${name}-${count}`));
    if (id !== null) known.push(id);
    if (known.length > KNOWN) known.shift();
    if (chance.chance(BURSTS)) await burst(chance, `${recorder.by}-${name}-${count}`);
    if (known.length > 0 && chance.chance(ACTS)) await act(chance, chance.pick(known));
  }
}

/** What became of each of them the history tells. */
async function burst(chance: Random, tag: string): Promise<void> {
  for (const result of await client.enqueueMany(burstFor(chance, tag))) {
    if (!result.ok && !EXPECTED.has(result.error.code)) throw result.error;
  }
}

async function act(chance: Random, job: string): Promise<void> {
  const acts: readonly (() => Promise<unknown>)[] = [
    () => client.cancel(job),
    () => client.cancel(job),
    () => client.retry(job),
    () => client.retry(job, { now: true }),
    () => client.remove(job),
    () => client.dead.retry({ queue: PAUSED_QUEUE }),
    () => client.configure(LIMITED_QUEUE, { limits: { running: chance.int(4, 10), perKey: { running: chance.int(1, 3) } } }),
    () => client.limits.set(LIMITED_QUEUE, chance.pick(LIMIT_KEYS), { running: chance.int(1, 4), weight: chance.int(1, 5) }),
    async () => {
      await client.pause(PAUSED_QUEUE, { create: true });
      await sleep(chance.int(50, 500));
      await client.resume(PAUSED_QUEUE, { create: true });
    },
  ];
  try {
    await chance.pick(acts)();
  } catch (error) {
    if (!(error instanceof MillraceError && EXPECTED.has(error.code))) throw error;
  }
}

const calling = Promise.all(Array.from({ length: CALLERS }, (_, index) => call(random.fork(String(index)), String(index))));

untilStopped(async () => {
  over.abort();
  await calling;
  await client.close({ grace: 0 });
});
