import type { Client, FlowMemberInput, FlowOptions, JobInput } from "../../src/client/client.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { FLOW_QUEUE } from "../../src/core/flow.ts";
import { isTerminal, type Job } from "../../src/core/job.ts";
import { sleep } from "../../src/lib/clock.ts";
import { printOfJob } from "../history/print.ts";
import type { Recorder } from "../history/recorder.ts";
import type { Role, Running } from "./deployment.ts";
import { planDurable } from "./durable-plan.ts";
import { planFlow } from "./flow-plan.ts";
import type { Script, Step } from "./handler.ts";
import { type Trait, TYPES, type WorldPlan } from "./plan.ts";
import type { Random } from "./random.ts";
import { sendSignals } from "./signals.ts";
import type { Stage } from "./stage.ts";

/** Enqueues its share of the jobs over the time of the chaos, alone or several at once; one that is not sure says it again, if it has a key. */
export function producer(stage: Stage): Role {
  const { plan } = stage;
  const share = Math.ceil(plan.jobs / plan.producers);
  return async (running, random) => {
    const { process } = running;
    const { clock } = process;
    const pauseMs = plan.chaosMs / share;
    const until = plan.chaosMs;
    for (let count = 0; stage.timeline.now < until; count++) {
      await sleep(clock, random.next() * 2 * pauseMs);
      if (stage.timeline.now >= until) return;
      if (plan.traits.has("flows") && random.chance(FLOWS)) {
        void createFlow(stage, running, random, `${process.name}-${count}`);
        continue;
      }
      const jobs = Array.from({ length: plan.traits.has("batches") ? random.int(1, 4) : 1 }, (_, index) => {
        return jobFor(stage, random, `${process.name}-${count}-${index}`);
      });
      if (jobs.length === 1 || random.chance(0.5)) for (const job of jobs) void enqueueOne(stage, running, job, random);
      else void enqueueMany(stage, running, jobs, random);
    }
  };
}

/** How likely a producer creates a flow instead of jobs. */
const FLOWS = 0.15;
const FLOW_KEYS = ["one", "two"];
const FLOW_WISHES = { least: 2, most: 8, workMs: 300, delays: 0.1, failures: 0.2 };

async function createFlow(stage: Stage, running: Running, random: Random, tag: string): Promise<void> {
  // The same flow again and again, or another one each time.
  const key = random.chance(0.3) ? random.pick(FLOW_KEYS) : undefined;
  const chance = key === undefined ? random.fork(`flow of ${tag}`) : stage.random.fork(`flow ${key}`);
  const members = planFlow(chance, { ...FLOW_WISHES, queues: Object.keys(stage.plan.queues) }, key ?? tag);
  const options = key === undefined ? {} : { key, keyTtl: random.pick([0, 60_000]) };
  for (let tries = 0; tries < (key === undefined ? 1 : 2); tries++) if (await createOnce(stage, running, members, options)) return;
}

/** False if nobody knows whether the flow is there. */
async function createOnce(stage: Stage, { client, recorder }: Running, members: FlowMemberInput[], options: FlowOptions): Promise<boolean> {
  const begun = recorder.begin("enqueue", { queue: FLOW_QUEUE, key: options.key ?? null, print: "" });
  try {
    const { id, created, jobs } = await client.flow(members, options);
    begun.end("ok", { job: id, created });
    stage.flows.push(id);
    stage.known.push(...Object.values(jobs));
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === null) stage.broken(error);
    const isUnsure = code === "store_unavailable";
    begun.end(isUnsure ? "unknown" : "fail", { code: code ?? "none" });
    return !isUnsure;
  }
}

type NewJob = JobInput & { readonly type: string; readonly payload: Script; readonly queue: string };

async function enqueueOne(stage: Stage, running: Running, job: NewJob, random: Random, isAgain = false): Promise<void> {
  const { client, recorder } = running;
  const { type, payload, ...options } = job;
  const begun = recorder.begin("enqueue", askedOf(job));
  try {
    const { id, created } = await client.enqueue<Script>(type, payload, options);
    begun.end("ok", { job: id, created });
    stage.known.push(id);
    if (payload.durable !== undefined) noteDurable(stage, running, id, random);
    if (stage.plan.traits.has("waits")) void waitForEnd(stage, client, id);
  } catch (error) {
    const code = codeOf(error);
    if (code === null) return stage.broken(error);
    begun.end(code === "store_unavailable" ? "unknown" : "fail", { code });
    if (code === "store_unavailable" && job.idempotencyKey !== undefined && !isAgain) await enqueueOne(stage, running, job, random, true);
  }
}

/** What a handler does that makes another job: if that fails, so does the attempt. */
export async function enqueueChild(stage: Stage, client: Client, recorder: Recorder, parent: Job): Promise<void> {
  const payload: Script = { tag: `child of ${parent.id} ${parent.fence}`, steps: [["ok", 10]] };
  const job: NewJob = { type: parent.type, queue: parent.queue, payload };
  const begun = recorder.begin("enqueue", askedOf(job));
  try {
    const { id, created } = await client.enqueue<Script>(job.type, payload, { queue: job.queue });
    begun.end("ok", { job: id, created });
    stage.known.push(id);
  } catch (error) {
    begun.end(codeOf(error) === "store_unavailable" ? "unknown" : "fail", { code: codeOf(error) ?? "none" });
    throw error;
  }
}

/** Who waits for a job is told of its end, or that it is gone, or that it took too long; never of anything else. */
async function waitForEnd(stage: Stage, client: Client, id: string): Promise<void> {
  try {
    const { status } = await client.wait(id, { timeout: 10_000 });
    if (!isTerminal(status)) stage.broken(new Error(`a wait for job ${id} ended while it was ${status}`));
  } catch (error) {
    const isExpected = error instanceof MillraceError && ["wait_timeout", "not_found", "store_unavailable", "closed"].includes(error.code);
    if (!isExpected) stage.broken(error);
  }
}

async function enqueueMany(stage: Stage, running: Running, jobs: readonly NewJob[], random: Random): Promise<void> {
  const { client, recorder } = running;
  const begun = jobs.map((job) => recorder.begin("enqueue", askedOf(job)));
  const results = await client.enqueueMany(jobs).catch((error: unknown) => {
    const code = codeOf(error);
    if (code === null) stage.broken(error);
    return jobs.map(() => ({ ok: false, error: { code: code ?? "store_unavailable" } }) as const);
  });
  results.forEach((result, index) => {
    if (result.ok) {
      begun[index]!.end("ok", { job: result.job.id, created: result.job.created });
      stage.known.push(result.job.id);
      const { id } = result.job;
      if (jobs[index]!.payload.durable !== undefined) noteDurable(stage, running, id, random);
    } else {
      const { code } = result.error;
      begun[index]!.end(code === "store_unavailable" ? "unknown" : "fail", { code });
    }
  });
}

function noteDurable(stage: Stage, running: Running, id: string, random: Random): void {
  stage.durable.push(id);
  const { client, process } = running;
  const sender = { client, clock: process.clock, by: process.name, pace: 1, onBroken: (error: unknown) => stage.broken(error) };
  void sendSignals(sender, id, random.fork(`signals to ${id}`));
}

function askedOf({ type, payload, queue, idempotencyKey }: NewJob): { queue: string; key: string | null; print: string } {
  return { queue, key: idempotencyKey ?? null, print: printOfJob(type, JSON.stringify(payload)) };
}

function codeOf(error: unknown): string | null {
  return error instanceof MillraceError && ["store_unavailable", "queue_full", "key_conflict", "closed"].includes(error.code)
    ? error.code
    : null;
}

// ── Which jobs there are ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const KEYS = ["red", "green", "blue", "white"];
const LIMIT_KEYS = ["ann", "bob", "eve"];

function jobFor({ plan }: Stage, random: Random, tag: string): NewJob {
  const has = (trait: Trait, probability: number): boolean => plan.traits.has(trait) && random.chance(probability);
  const isKeyed = has("keys", 0.5);
  const limitKey = has("limit-keys", 0.7) ? random.pick(LIMIT_KEYS) : undefined;
  return {
    type: random.pick(TYPES),
    queue: random.pick(Object.keys(plan.queues)),
    // Jobs with a key are the same request again and again, now and then another one.
    payload:
      isKeyed && random.chance(0.9)
        ? { steps: [["ok", 100]] }
        : { tag, steps: stepsFor(random, has), ...durableFor(plan, random, has, tag) },
    maxRetries: random.pick([0, 1, 3]),
    maxLost: random.pick([undefined, undefined, 0, 1, 2]),
    retryDelay: random.pick([0, 200, 1_000]),
    ...(has("priorities", 0.7) ? { priority: random.pick(["low", "default", "high", "critical", 5] as const) } : {}),
    ...(has("delays", 0.4) ? { delay: random.int(1, 8_000) } : {}),
    ...(has("timeouts", 0.5) ? { timeout: random.pick([300, 1_500, 4_000]) } : {}),
    ...(limitKey === undefined ? {} : { limitKey }),
    ...(isKeyed ? { idempotencyKey: random.pick(KEYS), keyTtl: random.pick([0, 2_000, 60_000]) } : {}),
  };
}

function durableFor(
  plan: WorldPlan,
  random: Random,
  has: (trait: Trait, probability: number) => boolean,
  tag: string,
): Pick<Script, "durable"> {
  return has("durable", 0.2)
    ? { durable: planDurable(random.fork(`durable of ${tag}`), { queues: Object.keys(plan.queues), pace: 1 }, tag) }
    : {};
}

function stepsFor(random: Random, has: (trait: Trait, probability: number) => boolean): Step[] {
  const workMs = (): number => (has("long", 0.3) ? random.int(1_000, 7_000) : random.int(0, 300));
  const steps: Step[] = [];
  for (let count = random.int(0, 2); count > 0; count--) {
    if (has("failures", 0.5)) steps.push(["throw", workMs()]);
    else if (has("snoozes", 0.3)) steps.push(["snooze", workMs(), random.pick([0, 1_000, 2_500])]);
    else if (has("retry-after", 0.3)) steps.push(["retry-after", workMs(), random.pick([0, 700, 3_000])]);
    else if (has("holds", 0.3)) steps.push(["hold", workMs(), random.pick([1_000, 2_500])]);
    else if (has("stubborn", 0.4)) steps.push(["stubborn", random.int(1_000, 10_000)]);
  }
  if (has("discards", 0.15)) steps.push(["discard", workMs()]);
  else if (has("failures", 0.25)) steps.push(["throw", workMs()]);
  else steps.push([has("spawns", 0.4) ? "spawn" : has("notes", 0.5) ? "notes" : "ok", workMs()]);
  return steps;
}
