/**
 * A producer process of a run: enqueues jobs one after the other from several callers, and now and then acts on one by hand as an operator
 * does. Argument: MemberWishes as JSON.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { MillraceError } from "../../../src/core/errors.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { PendingCalls } from "../../../src/lib/pending-calls.ts";
import type { Random } from "../../simulation/random.ts";
import { sendSignals } from "../../simulation/signals.ts";
import { burstFor, flowFor, jobFor, LIMIT_KEYS, LIMITED_QUEUE, PACE, PAUSED_QUEUE } from "../jobs.ts";
import { createFlow, enqueueOne } from "./enqueue.ts";
import { join, untilStopped } from "./member.ts";

const CALLERS = 4;
const MOST_PAUSE_MS = 80;
const ACTS = 0.06;
const BURSTS = 0.003;
const FLOWS = 0.01;
/** Jobs that an operator still remembers. */
const KNOWN = 20;
/** What the rules may refuse an operator; a store that is away or full is no error either. */
const EXPECTED: ReadonlySet<string> = new Set(["store_unavailable", "store_full", "wrong_status", "not_found", "queue_full", "closed"]);

const { client, recorder, random } = await join();
const known: string[] = [];
/** The latest flow. */
let flow: string | null = null;
/** Those that do durable work, and the signals to them that are under way. */
const durable: string[] = [];
const signals = new PendingCalls();
const over = new AbortController();
const onBroken = (error: unknown): void => {
  throw error;
};
const sender = { client, clock: systemClock, by: recorder.by, pace: PACE, onBroken };

async function call(chance: Random, name: string): Promise<void> {
  for (let count = 0; !over.signal.aborted; count++) {
    await sleep(chance.next() * MOST_PAUSE_MS);
    const job = jobFor(chance, `${recorder.by}-${name}-${count}`);
    const id = await enqueueOne(client, recorder, job);
    if (id !== null) known.push(id);
    if (known.length > KNOWN) known.shift();
    if (id !== null && job.payload.durable !== undefined) noteDurable(id, chance);
    if (chance.chance(FLOWS)) await startFlow(chance, `${recorder.by}-${name}-${count}`);
    if (chance.chance(BURSTS)) await burst(chance, `${recorder.by}-${name}-${count}`);
    if (known.length > 0 && chance.chance(ACTS)) await act(chance, chance.pick(known));
  }
}

/** Operators meet its members, too. */
async function startFlow(chance: Random, tag: string): Promise<void> {
  const created = await createFlow(client, recorder, flowFor(chance, tag));
  if (created === null) return;
  flow = created.id;
  known.push(chance.pick(Object.values(created.jobs)));
}

function noteDurable(id: string, chance: Random): void {
  durable.push(id);
  if (durable.length > KNOWN) durable.shift();
  void signals.add(sendSignals(sender, id, chance.fork(`signals to ${id}`)));
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
    async () => flow !== null && client.flows[chance.pick(["retry", "retry", "cancel"] as const)](flow),
    () => client.configure(LIMITED_QUEUE, { limits: { running: chance.int(4, 10), perKey: { running: chance.int(1, 3) } } }),
    () => client.limits.set(LIMITED_QUEUE, chance.pick(LIMIT_KEYS), { running: chance.int(1, 4), weight: chance.int(1, 5) }),
    async () => {
      await client.pause(PAUSED_QUEUE, { create: true });
      await sleep(chance.int(50, 500));
      await client.resume(PAUSED_QUEUE, { create: true });
    },
  ];
  try {
    await (durable.length > 0 && chance.chance(0.3) ? actOnDurable(chance, chance.pick(durable)) : chance.pick(acts)());
  } catch (error) {
    if (!(error instanceof MillraceError && EXPECTED.has(error.code))) throw error;
  }
}

async function actOnDurable(chance: Random, job: string): Promise<unknown> {
  const action = chance.int(0, 5);
  if (action === 0) return client.cancel(job);
  if (action === 1) return client.retry(job);
  if (action === 2) return client.retry(job, { restart: true });
  if (action === 3) return client.cancel(job).then(() => client.retry(job, { restart: chance.chance(0.7) }));
  const called = (await client.steps(job)).flatMap(({ call: made }) => (made === null ? [] : [made.id]));
  if (called.length === 0) return undefined;
  return action === 4 ? client.cancel(chance.pick(called)) : client.retry(chance.pick(called), { restart: chance.chance(0.5) });
}

const calling = Promise.all(Array.from({ length: CALLERS }, (_, index) => call(random.fork(String(index)), String(index))));

untilStopped(async () => {
  over.abort();
  await calling;
  await signals.whenIdle();
  await client.close({ grace: 0 });
});
