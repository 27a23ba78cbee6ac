import type { Client } from "../../src/client/client.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { sleep } from "../../src/lib/clock.ts";
import type { Role } from "./deployment.ts";
import type { Random } from "./random.ts";
import { signalOnce } from "./signals.ts";
import type { Stage } from "./stage.ts";

const PAUSE_MS = 1_500;
/** What the rules may refuse an operator; an unreachable store is no error either. */
const EXPECTED: ReadonlySet<string> = new Set(["store_unavailable", "wrong_status", "not_found", "queue_full", "closed"]);

/** Somebody who acts by hand, on what they know, all through the chaos. */
export function operator(stage: Stage): Role {
  return async ({ process, client }, random) => {
    while (stage.timeline.now < stage.plan.chaosMs) {
      await sleep(process.clock, random.next() * 2 * PAUSE_MS);
      if (stage.timeline.now < stage.plan.chaosMs) void allowingRefusals(stage, () => act(stage, client, random));
    }
  };
}

async function act(stage: Stage, client: Client, random: Random): Promise<unknown> {
  const { known, plan } = stage;
  const queue = random.pick(Object.keys(plan.queues));
  const job = known.length === 0 ? null : random.pick(known.slice(-20));
  const schedule = plan.schedules.length === 0 ? null : random.pick(plan.schedules);
  if (stage.durable.length > 0 && random.chance(0.4)) return actOnDurable(client, random, stage.durable);
  if (stage.flows.length > 0 && random.chance(0.25)) {
    const flow = random.pick(stage.flows.slice(-5));
    return random.chance(0.7) ? client.flows.retry(flow) : client.flows.cancel(flow);
  }
  const action = random.int(0, 13);
  if (action <= 3) return job === null ? undefined : client.cancel(job);
  if (action <= 5) return job === null ? undefined : client.retry(job);
  if (action === 6) return job === null ? undefined : client.retry(job, { now: true });
  if (action === 7) return job === null ? undefined : client.remove(job);
  if (action === 8) return client.pause(queue, { create: true });
  if (action === 9) return client.resume(queue, { create: true });
  if (action === 10) return client.dead.retry({ queue });
  if (action === 11) return random.chance(0.3) ? client.dead.purge({ queue }) : undefined;
  if (schedule === null) return undefined;
  if (action === 12) return client.schedules[random.pick(["pause", "resume", "run"] as const)](schedule.name);
  return client.schedules.upsert(
    random.chance(0.5) ? schedule : { ...schedule, cron: undefined, timeZone: undefined, every: random.pick([2_000, 4_000]) },
  );
}

/** What only jobs that do durable work know: signals, jobs that they called, and a new beginning. */
async function actOnDurable(client: Client, random: Random, durable: readonly string[]): Promise<unknown> {
  const job = random.pick(durable.slice(-10));
  const action = random.int(0, 7);
  if (action === 0) return signalOnce(client, job, `operator-${random.int(0, 1e9)}`);
  if (action <= 3) {
    const dead = (await client.dead.list()).jobs.filter(({ id }) => durable.includes(id));
    return dead.length === 0 ? undefined : client.retry(random.pick(dead).id, { restart: action === 1 });
  }
  if (action === 4) return client.cancel((await calling(client, durable.slice(-10))) ?? job);
  if (action === 5) return client.cancel(job).then(() => client.retry(job, { restart: random.chance(0.7) }));
  const called = (await client.steps(job)).flatMap(({ call }) => (call === null ? [] : [call.id]));
  if (called.length === 0) return undefined;
  const child = random.pick(called);
  return action === 6 ? client.cancel(child) : client.retry(child, { restart: random.chance(0.5) });
}

/** A job that waits for another. */
async function calling(client: Client, durable: readonly string[]): Promise<string | null> {
  for (const job of durable) {
    const steps = await client.steps(job).catch(() => []);
    if (steps.some(({ kind, state }) => kind === "call" && state === "open")) return job;
  }
  return null;
}

async function allowingRefusals(stage: Stage, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof MillraceError && EXPECTED.has(error.code))) stage.broken(error);
  }
}
