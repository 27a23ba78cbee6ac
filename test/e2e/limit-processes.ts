/** Limits over real processes on one store. One suite for every engine that several processes can share. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect, type EnqueueOptions } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import { readLedger } from "../faults/ledger.ts";
import { until } from "../faults/until.ts";
import { type Program, startProgram, temporaryFolder } from "./run-program.ts";

const PROCESSES = Number(process.env["MILLRACE_TEST_PROCESSES"] ?? 4);
const JOBS = 200;
const program = (name: string): string => fileURLToPath(new URL(`./programs/${name}`, import.meta.url));

interface Setting {
  readonly ledger: string;
  readonly client: Client;
  readonly worker: (options?: object) => Program;
  readonly enqueue: (count: number, options: EnqueueOptions) => Promise<void>;
}

/** The most handlers that ran at once. A job that starts again has ended before, whether it could say so or not. */
function mostAtOnce(ledger: string): number {
  const running = new Set<string>();
  let most = 0;
  for (const line of readLedger(ledger)) {
    if (line.op === "start") running.add(line.id);
    if (line.op === "end") running.delete(line.id);
    most = Math.max(most, running.size);
  }
  return most;
}

/** The suite. `emptyStore` gives the URL of a store that nobody has used. */
export function limitProcessSuite(engine: string, emptyStore: () => string): void {
  async function setUp(): Promise<Setting> {
    const ledger = join(temporaryFolder(), "ledger.jsonl");
    const url = emptyStore();
    const client = await connect(url);
    onTestFinished(() => client.close());
    return {
      ledger,
      client,
      worker: (options = {}) => startProgram(program("worker.ts"), [url, ledger, JSON.stringify(options)]),
      enqueue: async (count, options) => {
        const answers = await client.enqueueMany(
          Array.from({ length: count }, (_, number) => ({ type: "task", payload: { number }, ...options })),
        );
        expect(answers.filter(({ ok }) => !ok)).toEqual([]);
      },
    };
  }

  const completed = (client: Client, count: number): Promise<void> => until(async () => (await client.stats()).counts.completed === count);

  describe(`limits over processes on ${engine}`, () => {
    test(`where one may run, ${PROCESSES} processes never run two`, { timeout: 120_000 }, async () => {
      const { ledger, client, worker, enqueue } = await setUp();
      await client.configure("default", { limits: { perKey: { running: 1 } } });
      const workers = Array.from({ length: PROCESSES }, () => worker({ runMs: 1, lease: "30s" }));
      await Promise.all(workers.map((one) => one.printed("ready")));
      await Promise.all([enqueue(JOBS / 2, { limitKey: "one" }), enqueue(JOBS / 2, { limitKey: "one" })]);
      await completed(client, JOBS);
      expect(mostAtOnce(ledger)).toBe(1);
      expect((await client.limits.use("default"))!.running).toBe(0);
    });

    test(`the limit of a queue holds over ${PROCESSES} processes, also while it changes`, { timeout: 120_000 }, async () => {
      const { ledger, client, worker, enqueue } = await setUp();
      await client.configure("default", { limits: { running: 3 } });
      const workers = Array.from({ length: PROCESSES }, () => worker({ runMs: 5, lease: "30s" }));
      await Promise.all(workers.map((one) => one.printed("ready")));
      await enqueue(JOBS, {});
      for (const running of [2, 3, 1, 3]) {
        const done = (await client.stats()).counts.completed;
        await client.configure("default", { limits: { running } });
        await until(async () => (await client.stats()).counts.completed > Math.min(JOBS - 1, done + 20));
      }
      await completed(client, JOBS);
      expect(mostAtOnce(ledger)).toBeLessThanOrEqual(3);
    });

    test("the place of a process that is killed comes back, and never twice", { timeout: 120_000 }, async () => {
      const { ledger, client, worker, enqueue } = await setUp();
      await client.configure("default", { limits: { perKey: { running: 1 } } });
      const holder = worker({ runMs: 60_000, lease: "1s" });
      await holder.printed("ready");
      await enqueue(1, { limitKey: "k", maxLost: 5, retryDelay: "10ms" });
      await until(() => readLedger(ledger).some(({ op }) => op === "start"));
      await enqueue(20, { limitKey: "k" });
      const others = [worker({ runMs: 1, lease: "30s" }), worker({ runMs: 1, lease: "30s" })];
      await Promise.all(others.map((one) => one.printed("ready")));
      const before = readLedger(ledger).filter(({ op }) => op === "start").length;
      expect(before, "starts while the place is taken").toBe(1);
      holder.child.kill("SIGKILL");
      await completed(client, 21);
      expect((await client.limits.use("default"))!.running).toBe(0);
      // The killed one never said that it ended: after it, one at a time.
      const [, ...lines] = readLedger(ledger).filter(({ op }) => op === "start" || op === "end");
      expect(lines.map(({ op }) => op)).toEqual(lines.map((_, index) => (index % 2 === 0 ? "start" : "end")));
    });
  });
}
