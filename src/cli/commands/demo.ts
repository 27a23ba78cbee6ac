import type { Client, EnqueueResult, Handlers, Stats } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import { PRIORITY_LEVELS, type PriorityLevel } from "../../core/job.ts";
import { toStatsWire } from "../../http/wire/queue.ts";
import { sleep, systemClock } from "../../lib/clock.ts";
import { defineCommand } from "../command.ts";
import { CommandRefused, EXIT, type ExitCode } from "../exit-codes.ts";
import { count, counted } from "../../core/counted.ts";
import type { Output } from "../output.ts";
import type { Session } from "../session.ts";

const QUEUE = "demo";
const CAPACITY = 100;
const SEEDS = 15;
const FLOOD = 150;
const SLOTS = 5;
const LOOK_EVERY_MS = 500;
const LEVELS = Object.keys(PRIORITY_LEVELS) as PriorityLevel[];

export const demo = defineCommand({
  about:
    "Runs a demonstration: jobs of random priority, an idempotency key used twice, more jobs than the queue has capacity for, and workers that run them all, with retries and dead letters. It runs in memory and leaves nothing behind, unless you name a store with --url.",
  examples: ["millrace demo", "millrace demo --url sqlite:demo.db"],
  async run(_input, session) {
    const { config, sources } = await session.settings("url");
    // Never the store of the environment or a file: it may be in production.
    const client = await session.openClient(sources.url.from === "flag" ? config.url : "memory:");
    try {
      return await show(client, session);
    } finally {
      await client.close({ grace: 0 });
    }
  },
});

async function show(client: Client, session: Session): Promise<ExitCode> {
  const { output } = session;
  const signal = session.interrupted();
  await client.configure(QUEUE, { capacity: CAPACITY });
  const before = await client.stats();
  await seed(client, output);
  await useKeyTwice(client, output);
  await flood(client, output);
  client.work(handlers, { concurrency: SLOTS, queues: [QUEUE] });
  await watchDrain(client, before, output, signal);
  if (signal.aborted) return EXIT.interrupted;
  await printDead(client, output);
  return EXIT.ok;
}

async function seed(client: Client, output: Output): Promise<void> {
  const jobs = Array.from({ length: SEEDS }, (_, number) => ({ number, priority: LEVELS[Math.floor(Math.random() * LEVELS.length)]! }));
  for (const { number, priority } of jobs) await client.enqueue("demo:order", { number }, { ...JOB, priority });
  const byLevel = LEVELS.toReversed().map((level) => `${jobs.filter(({ priority }) => priority === level).length} ${level}`);
  print(output, { step: "seed", enqueued: SEEDS }, `1. ${SEEDS} jobs of random priority: ${byLevel.join(", ")}`);
}

async function useKeyTwice(client: Client, output: Output): Promise<void> {
  const key = { ...JOB, idempotencyKey: `order-${Date.now()}` };
  const first = await client.enqueue("demo:order", { number: 42 }, key);
  const again = await client.enqueue("demo:order", { number: 42 }, key);
  const refusal = await client.enqueue("demo:order", { number: 43 }, key).catch((error: unknown) => error);
  if (!(refusal instanceof MillraceError)) throw new CommandRefused("the second job with the same key was not refused", EXIT.failure);
  print(
    output,
    { step: "key", same_job: first.id === again.id, refused: refusal.code },
    `2. a second enqueue with the same key returns the same job: ${first.id === again.id}`,
  );
  print(output, null, `   the same key with another payload is refused: ${refusal.message}`);
}

async function flood(client: Client, output: Output): Promise<void> {
  const results = await client.enqueueMany(
    Array.from({ length: FLOOD }, (_, number) => ({ type: kindOf(number), payload: { number }, ...JOB })),
  );
  const accepted = results.filter(({ ok }) => ok).length;
  const refusal = results.find((result): result is EnqueueResult & { ok: false } => !result.ok);
  print(
    output,
    { step: "flood", accepted, refused: FLOOD - accepted },
    `3. ${FLOOD} more jobs at once: ${accepted} are accepted, ${FLOOD - accepted} refused`,
  );
  if (refusal !== undefined) print(output, null, `   ${refusal.error.message}`);
  print(output, null, `4. a worker with ${SLOTS} slots starts; some jobs need a second attempt, some never succeed`);
}

const JOB = { queue: QUEUE, maxRetries: 2, retryDelay: 200 } as const;

function kindOf(number: number): string {
  if (number % 20 === 0) return "demo:hopeless";
  return number % 5 === 0 ? "demo:flaky" : "demo:order";
}

const handlers: Handlers = {
  "demo:order": async (_payload, ctx) => sleep(systemClock, 40 + Math.random() * 160, ctx.signal),
  "demo:flaky": async (_payload, ctx) => {
    if (ctx.job.attempt === 1) throw new Error("connection reset");
  },
  "demo:hopeless": async () => {
    throw new Error("no such customer");
  },
};

/** Prints counts every half second until no job waits or runs. */
async function watchDrain(client: Client, before: Stats, output: Output, signal: AbortSignal): Promise<void> {
  for (;;) {
    const stats = await client.stats();
    const { pending, scheduled, retrying, running } = stats.queues[QUEUE]!.counts;
    const figures = {
      waiting: pending + scheduled,
      retrying,
      running,
      completed: stats.totalProcessed - before.totalProcessed,
      retried: stats.totalRetried - before.totalRetried,
      dead: stats.totalFailed - before.totalFailed,
    };
    const line = Object.entries(figures).map(([name, value]) => `${count(value).padStart(4)} ${name}`);
    print(output, { step: "drain", ...figures }, `   ${line.join("  ")}`);
    if (signal.aborted || pending + scheduled + retrying + running === 0) return;
    await sleep(systemClock, LOOK_EVERY_MS, signal);
  }
}

async function printDead(client: Client, output: Output): Promise<void> {
  const { jobs } = await client.dead.list({ queue: QUEUE });
  print(
    output,
    { step: "end", stats: toStatsWire(await client.stats()) },
    `5. done: ${counted(jobs.length, "dead letter stays until you act", "dead letters stay until you act")}`,
  );
  for (const message of new Set(jobs.map(({ error }) => error?.message ?? ""))) print(output, null, `   ${message}`);
  output.message("Next: millrace --help lists the commands, docs/guide.md shows the library.");
}

function print(output: Output, value: object | null, line: string): void {
  if (!output.json) output.line(line);
  else if (value !== null) output.value(value);
}
