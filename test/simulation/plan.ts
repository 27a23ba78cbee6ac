import type { QueueOptions, ScheduleInput } from "../../src/client/client.ts";
import type { Weather } from "./network.ts";
import type { Random } from "./random.ts";

/** Everything that can be done to a world. Each seed chooses some of it: a few faults together find what all at once would hide. */
export const FAULTS = [
  "crash",
  "freeze",
  "redeploy",
  "outage",
  "cut-off",
  "store-clock",
  "process-clock",
  "fail",
  "lose-answer",
  "resend",
  "late",
  "lose-hint",
  "double-hint",
  "slow",
] as const;
export type FaultName = (typeof FAULTS)[number];

/** What the jobs of a world may have. */
export const TRAITS = [
  "priorities",
  "delays",
  "keys",
  "failures",
  "discards",
  "snoozes",
  "retry-after",
  "timeouts",
  "stubborn",
  "notes",
  "long",
  "batches",
  "spawns",
  "waits",
  "limit-keys",
  "holds",
  "durable",
  "flows",
] as const;
export type Trait = (typeof TRAITS)[number];

export interface WorkerPlan {
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly slots: number;
  /** It begins with one slot and grows. */
  readonly grows: boolean;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** How far ahead of its free slots it claims. */
  readonly aheadMs: number;
}

/** A world, as a seed wants it. */
export interface WorldPlan {
  readonly chaosMs: number;
  readonly deadlineMs: number;
  /** How many batches of a verb may be under way. */
  readonly inFlight: number;
  readonly queues: Readonly<Record<string, QueueOptions>>;
  /** One process each. */
  readonly workers: readonly (readonly WorkerPlan[])[];
  readonly producers: number;
  readonly jobs: number;
  readonly traits: ReadonlySet<Trait>;
  readonly hasOperator: boolean;
  readonly schedules: readonly ScheduleInput[];
  readonly faults: ReadonlySet<FaultName>;
  readonly weather: Weather;
  /** How far apart the clocks of processes are, at most. */
  readonly skewMs: number;
}

export const TYPES = ["mail", "bill", "report"] as const;

const QUEUE_KINDS: readonly QueueOptions[] = [
  {},
  {},
  { capacity: 5 },
  { headStart: 200 },
  { deadLetters: false },
  { retention: { age: 4_000, count: 1_000, keepAtLeast: 1_000 } },
  { retention: { age: "1d", count: 3, keepAtLeast: 2_000 } },
];

/** Beside what kind it is: some queues have limits. */
const LIMITS: readonly QueueOptions[] = [
  {},
  {},
  {},
  { limits: { running: 2 } },
  { limits: { perKey: { running: 1 } } },
  { limits: { running: 3, perKey: { running: 1, waiting: 4 } } },
  { limits: { rate: "2/s", burst: 3 } },
  { limits: { running: 2, perKey: { rate: "1/s" } } },
];

/** Chooses a world. */
export function planWorld(random: Random): WorldPlan {
  const queues = planQueues(random.fork("queues"));
  const faults = new Set(random.fork("faults").some(FAULTS, 0.45));
  return {
    chaosMs: random.int(15, 50) * 1_000,
    deadlineMs: random.pick([1_000, 3_000, 10_000]),
    inFlight: random.pick([1, 2]),
    queues,
    workers: planWorkers(random.fork("workers"), Object.keys(queues)),
    producers: random.int(1, 2),
    jobs: random.int(15, 50),
    traits: new Set(random.fork("traits").some(TRAITS, 0.5)),
    hasOperator: random.chance(0.6),
    schedules: planSchedules(random.fork("schedules"), Object.keys(queues)),
    faults,
    weather: planWeather(random.fork("weather"), faults),
    skewMs: random.pick([0, 0, 500, 90_000]),
  };
}

function planQueues(random: Random): Record<string, QueueOptions> {
  const names = ["default", "other", "third"].slice(0, random.int(1, 3));
  const limits = random.fork("limits");
  return Object.fromEntries(names.map((name) => [name, { ...random.pick(QUEUE_KINDS), ...limits.pick(LIMITS) }]));
}

/** The first process serves everything, so that nothing is without a worker when all is well. */
function planWorkers(random: Random, queues: readonly string[]): WorkerPlan[][] {
  const leaseMs = random.pick([1_000, 2_000, 5_000]);
  const pollMs = random.pick([500, 1_000]);
  const aheadMs = random.pick([0, 20, 200, 1_000]);
  const everything = { queues, types: "*" as const, slots: random.int(1, 4), grows: random.chance(0.3), leaseMs, pollMs, aheadMs };
  const others = Array.from({ length: random.int(0, 2) }, () =>
    Array.from({ length: random.int(1, 2) }, (): WorkerPlan => {
      const some = random.some(queues, 0.7);
      return {
        queues: some.length > 0 ? some : queues,
        types: random.chance(0.5) ? "*" : [random.pick(TYPES)],
        slots: random.int(1, 5),
        grows: random.chance(0.3),
        leaseMs,
        pollMs,
        aheadMs,
      };
    }),
  );
  return [[everything], ...others];
}

const TIMINGS = [
  { every: 1_000 },
  { every: 3_000 },
  { every: 10_000 },
  { cron: "* * * * *" },
  { cron: "*/5 * * * * *", timeZone: "Europe/Berlin" },
  { cron: "30 59 23 * * *" },
  { cron: "0,20,40 * * * * *", timeZone: "America/New_York" },
] as const;

function planSchedules(random: Random, queues: readonly string[]): ScheduleInput[] {
  return Array.from({ length: random.pick([0, 0, 1, 2]) }, (_, index): ScheduleInput => {
    return {
      name: `schedule-${index}`,
      type: random.pick(TYPES),
      payload: { steps: [["ok", random.int(0, 500)]] },
      queue: random.pick(queues),
      maxRetries: 1,
      retryDelay: 500,
      catchUp: random.pick(["one", "skip"]),
      overlap: random.pick(["allow", "skip"]),
      ...random.pick(TIMINGS),
    };
  });
}

function planWeather(random: Random, faults: ReadonlySet<FaultName>): Weather {
  const chanceOf = (fault: FaultName, most: number): number => (faults.has(fault) ? most * (0.2 + 0.8 * random.next()) : 0);
  return {
    fail: chanceOf("fail", 0.1),
    loseAnswer: chanceOf("lose-answer", 0.1),
    resend: chanceOf("resend", 0.1),
    late: chanceOf("late", 0.03),
    loseHint: chanceOf("lose-hint", 1),
    doubleHint: chanceOf("double-hint", 0.5),
    slow: chanceOf("slow", 0.1),
    slowMs: random.pick([300, 1_500, 4_000]),
  };
}
