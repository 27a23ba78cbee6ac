import type { FlowMemberInput, JobInput, QueueOptions, ScheduleInput } from "../../src/client/client.ts";
import { planDurable } from "../simulation/durable-plan.ts";
import { planFlow } from "../simulation/flow-plan.ts";
import type { Script, Step } from "../simulation/handler.ts";
import type { Random } from "../simulation/random.ts";

/** Short, so that many run out: a frozen process is frozen for longer. */
export const LEASE_MS = 1_500;
/** Longer than commits are made to stall: what was claimed meanwhile is still good afterwards, and must come to a handler. */
const LONG_LEASE_MS = 10_000;
/** Large and small workers side by side: what one takes in one breath is more than another can do in a second. */
export const CREW: readonly { readonly slots: number; readonly leaseMs: number; readonly longLeaseMs: number }[] = [
  { slots: 1, leaseMs: LEASE_MS, longLeaseMs: LEASE_MS },
  { slots: 10, leaseMs: LEASE_MS, longLeaseMs: LONG_LEASE_MS },
  { slots: 500, leaseMs: LEASE_MS, longLeaseMs: LEASE_MS },
];
/** Ends of jobs that have it are followed by a delivery, which is a job of its own. Nothing is sent. */
export const WEBHOOK = "https://hooks.example.com/torture";
export const DELIVERY_SLOTS = 4;
export const GRACE_MS = 3_000;

/** Sleeps and waits take a part of the time that they take in a simulation, where time costs nothing. */
export const PACE = 0.2;

/** The queue that operators pause now and then. */
export const PAUSED_QUEUE = "side";

/** The queue with limits, which operators change now and then. */
export const LIMITED_QUEUE = "tenants";
/** The queue whose limit keys only take turns. */
const TURNS_QUEUE = "turns";

const KEEP_ALL = { retention: { count: 1_000_000, age: "30d" } } as const satisfies QueueOptions;

/** The queues of a run. Nothing is pruned, so that everything can be checked at the end. */
export const QUEUES: Readonly<Record<string, QueueOptions>> = {
  main: KEEP_ALL,
  [PAUSED_QUEUE]: { ...KEEP_ALL, capacity: 60 },
  fair: { ...KEEP_ALL, headStart: 200 },
  [LIMITED_QUEUE]: { ...KEEP_ALL, limits: { running: 8, perKey: { running: 2 } } },
  [TURNS_QUEUE]: KEEP_ALL,
};

const TICK: Script = { steps: [["ok", 3]] };

export const SCHEDULES: readonly ScheduleInput[] = [
  { name: "often", every: 2_000, type: "mail", queue: "main", payload: TICK },
  { name: "seldom", cron: "*/5 * * * * *", type: "bill", queue: "fair", payload: TICK },
];

export type NewTortureJob = Omit<JobInput, "type" | "payload"> & {
  readonly type: string;
  readonly queue: string;
  readonly payload: Script;
};

export const TYPES = ["mail", "bill", "report"] as const;
/** How the last attempt ends, by how often it does. */
const LAST = [...Array<"ok">(30).fill("ok"), ...Array<"notes">(4).fill("notes"), "discard", "throw", "spawn"] as const;
export const LIMIT_KEYS = ["ann", "bob", "eve", "joe"];
const KEYS = ["red", "green", "blue", "white", "black", "grey"];

/** A job by chance. `tag` makes its payload another one than all others. */
export function jobFor(random: Random, tag: string): NewTortureJob {
  const isKeyed = random.chance(0.06);
  const queue = random.pick(["main", "main", PAUSED_QUEUE, "fair", LIMITED_QUEUE, TURNS_QUEUE]);
  return {
    type: random.pick(TYPES),
    queue,
    ...limitKeyFor(random, queue),
    // Jobs with a key are the same request again and again, now and then another one.
    payload: isKeyed && random.chance(0.9) ? { steps: [["ok", 20]] } : { tag, steps: stepsFor(random, queue), ...durableFor(random, tag) },
    maxRetries: random.pick([0, 2, 4]),
    // No more: after a third loss it would stay away for up to two minutes, and the end of the run with it.
    maxLost: random.pick([0, 1, 2]),
    retryDelay: random.pick([0, 20, 100]),
    ...(random.chance(0.5) ? { priority: random.pick(["low", "default", "high", "critical", 5] as const) } : {}),
    ...(random.chance(0.1) ? { delay: random.int(1, 3_000) } : {}),
    ...(random.chance(0.1) ? { webhookUrl: WEBHOOK } : {}),
    ...(random.chance(0.05) ? { timeout: random.pick([10, 1_000]) } : {}),
    ...(isKeyed ? { idempotencyKey: random.pick(KEYS), keyTtl: random.pick([0, 2_000, 60_000]) } : {}),
  };
}

/** Some do durable work, and call others in any queue but those where they could wait for long. */
function durableFor(random: Random, tag: string): Pick<Script, "durable"> {
  return random.chance(0.04)
    ? { durable: planDurable(random.fork(`durable of ${tag}`), { queues: ["main", "fair", TURNS_QUEUE], pace: PACE }, tag) }
    : {};
}

/** A flow of eight members, in any queue but those where they could wait for long. */
export function flowFor(random: Random, tag: string): FlowMemberInput[] {
  const wishes = { queues: ["main", "fair", TURNS_QUEUE], least: 8, most: 8, workMs: 30, delays: 0.05, failures: 0.1 };
  return planFlow(random.fork(`flow of ${tag}`), wishes, tag).map((member) => ({ ...member, maxLost: 2 }));
}

/** Many at once that nobody is in a hurry for: so there is work that waits. */
export function burstFor(random: Random, tag: string): NewTortureJob[] {
  return Array.from({ length: random.int(50, 300) }, (_, index) => {
    const queue = random.pick(["main", "fair", LIMITED_QUEUE, TURNS_QUEUE]);
    const steps: Script["steps"] = [["ok", random.int(0, 30)]];
    return { type: random.pick(TYPES), queue, ...limitKeyFor(random, queue), payload: { tag: `${tag}-${index}`, steps }, priority: "low" };
  });
}

function limitKeyFor(random: Random, queue: string): { limitKey?: string } {
  const hasKeys = queue === LIMITED_QUEUE || queue === TURNS_QUEUE;
  return hasKeys && random.chance(0.9) ? { limitKey: random.pick(LIMIT_KEYS) } : {};
}

function stepsFor(random: Random, queue: string): Step[] {
  // A few run for longer than a lease lasts, and live by its renewals.
  const workMs = (): number => (random.chance(0.02) ? random.int(LEASE_MS, 2 * LEASE_MS) : random.int(0, 30));
  const kind = random.int(1, 100);
  const steps: Step[] = [];
  if (kind <= 10) steps.push(["throw", workMs()]);
  else if (kind <= 12) steps.push(["snooze", workMs(), 1_000]);
  else if (kind <= 15) steps.push(["retry-after", workMs(), random.int(0, 400)]);
  else if (kind === 16 && queue === LIMITED_QUEUE) steps.push(["hold", workMs(), 1_000]);
  else if (kind <= 17) steps.push(["stubborn", random.int(0, 2 * LEASE_MS)]);
  steps.push([random.pick(LAST), workMs()]);
  return steps;
}
