/** Durable work in processes that are killed. One suite for every engine that several processes can share. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import { untilHurried } from "../faults/hurry.ts";
import { until } from "../faults/until.ts";
import { type Program, startProgram, temporaryFolder } from "./run-program.ts";

const JOBS = Number(process.env["MILLRACE_TEST_DURABLE_JOBS"] ?? 500);
const KILL_EVERY_MS = 300;
const LEAST_KILLS = 10;
const PROGRAM = fileURLToPath(new URL("./programs/durable-worker.ts", import.meta.url));

/** Something that a handler did under a fence. */
interface Effect {
  readonly job: string;
  readonly name: string;
  readonly fence: number;
}

function readEffects(path: string): Effect[] {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Effect);
}

/** The suite. `emptyStore` gives the URL of a store that nobody has used. */
export function durableProcessSuite(engine: string, emptyStore: () => string): void {
  describe(`durable work in processes on ${engine}`, () => {
    test(`${JOBS} jobs end although their workers are killed, and a stored step never runs again`, { timeout: 300_000 }, async () => {
      const [url, effects] = [emptyStore(), join(temporaryFolder(), "effects.jsonl")];
      const client = await connect(url);
      onTestFinished(() => client.close());
      await client.configure("default", { retention: { count: JOBS * 10 } });
      const start = (): Program => startProgram(PROGRAM, [url, effects]);
      const workers = [start(), start(), start()];
      const enqueued = await client.enqueueMany(
        Array.from({ length: JOBS }, () => ({ type: "order", maxLost: 100, retryDelay: "20ms" as const })),
      );
      const ids = enqueued.map((answer) => (answer.ok ? answer.job.id : expect.fail(answer.error.message)));
      let kills = 0;
      const nemesis = setInterval(() => {
        const [victim, other] = workers.filter(({ output }) => output.stdout.includes("ready"));
        if (victim === undefined || other === undefined) return;
        victim.child.kill("SIGKILL");
        workers.splice(workers.indexOf(victim), 1, start());
        kills++;
      }, KILL_EVERY_MS);
      onTestFinished(() => clearInterval(nemesis));

      // Each job gets its signal three times, early or late: the first one counts. The last jobs wait for theirs until enough workers were killed.
      for (const [index, id] of ids.entries()) {
        if (index === Math.floor(JOBS * 0.9)) await until(() => kills >= LEAST_KILLS);
        const answers = await Promise.all(["ann", "bob", "eve"].map((by) => client.signal(id, "approval", { by })));
        expect(answers.filter(({ accepted }) => accepted)).toHaveLength(1);
      }
      await until(async () => (await client.count({ type: "order", status: "completed" })).count >= JOBS * 0.9);
      clearInterval(nemesis);
      await untilHurried(client, async () => (await client.count({ type: "order", status: "completed" })).count === JOBS);
      expect((await client.count({ type: "part", status: "completed" })).count).toBe(3 * JOBS);

      const byJob = Map.groupBy(readEffects(effects), ({ job }) => job);
      for (const id of ids) {
        const job = (await client.get<unknown, { done: string[]; approval: { by: string }; parts: unknown[] }>(id))!;
        expect(job.result!.done).toEqual(Array.from({ length: 10 }, (_, number) => `step ${number}`));
        expect(["ann", "bob", "eve"]).toContain(job.result!.approval.by);
        expect(job.result!.parts).toEqual([{ number: 0 }, { number: 1 }, { number: 2 }]);
        // A step ran again only in a later lease, and only until a result of it was stored: its successor never runs before it.
        const ran = byJob.get(id)!.filter(({ name }) => name.startsWith("step "));
        for (let number = 0; number < 10; number++) {
          const times = ran.flatMap(({ name }, index) => (name === `step ${number}` ? [index] : []));
          const next = ran.findIndex(({ name }) => name === `step ${number + 1}`);
          expect(times.length, `step ${number} of ${id}`).toBeGreaterThan(0);
          expect(new Set(times.map((index) => ran[index]!.fence)).size, "once in a lease").toBe(times.length);
          if (next >= 0) expect(Math.max(...times), `step ${number} of ${id} ran again after its successor`).toBeLessThan(next);
        }
      }
      await Promise.all(workers.map((worker) => worker.printed("ready")));
      for (const { child } of workers) child.kill("SIGTERM");
      for (const { ended } of workers) expect((await ended).code).toBe(0);
    });
  });
}
