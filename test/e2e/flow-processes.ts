/** Flows in processes that are killed. One suite for every engine that several processes can share. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, type CreatedFlow, type FlowMemberInput } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import { untilHurried } from "../faults/hurry.ts";
import { until } from "../faults/until.ts";
import { type Program, startProgram, temporaryFolder } from "./run-program.ts";

const FLOWS = Number(process.env["MILLRACE_TEST_FLOWS"] ?? 40);
const KILL_EVERY_MS = 300;
const LEAST_KILLS = 4;
const PROGRAM = fileURLToPath(new URL("./programs/flow-worker.ts", import.meta.url));

/** Eight members in two queues: what each of them waits for. */
const AFTER: Readonly<Record<string, readonly string[]>> = {
  fetch: [],
  a: ["fetch"],
  b: ["fetch"],
  c: ["fetch"],
  ab: ["a", "b"],
  bc: ["b", "c"],
  sum: ["ab", "bc"],
  done: ["a", "ab", "b", "bc", "c", "fetch", "sum"],
};

const MEMBERS = Object.entries(AFTER).map(([name, after]): FlowMemberInput => {
  const place = { after: name === "done" ? "*" : after, queue: name.length === 1 ? "slow" : "default" };
  return { name, ...place, type: "member", maxLost: 100, retryDelay: "20ms" };
});

/** Something that a handler did under a fence, in the order in which it was done. */
interface Deed {
  readonly op: "start" | "end";
  readonly flow: string;
  readonly name: string;
  readonly fence: number;
  readonly results: readonly string[];
}

function readDeeds(path: string): Deed[] {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Deed);
}

/** Each member ran when all that it waits for had come to its end, was given all their results, and in its last lease came to its own. */
function expectOrder(deeds: readonly Deed[], flow: string): void {
  const ended = new Set<string>();
  const lastFence = new Map<string, number>();
  for (const { op, name, fence, results } of deeds) {
    if (op === "end") ended.add(name);
    else {
      expect(results, `${name} of ${flow}`).toEqual(AFTER[name]!.toSorted());
      for (const one of AFTER[name]!) expect(ended, `${name} of ${flow} ran`).toContain(one);
      expect(fence, `${name} of ${flow} ran again in a later lease`).toBeGreaterThan(lastFence.get(name) ?? 0);
      lastFence.set(name, fence);
    }
  }
  expect([...ended].toSorted()).toEqual(Object.keys(AFTER).toSorted());
}

/** The suite. `emptyStore` gives the URL of a store that nobody has used. */
export function flowProcessSuite(engine: string, emptyStore: () => string): void {
  describe(`flows in processes on ${engine}`, () => {
    test(
      `${FLOWS} flows complete although workers are killed, each member after those that it waits for`,
      { timeout: 300_000 },
      async () => {
        const [url, path] = [emptyStore(), join(temporaryFolder(), "deeds.jsonl")];
        const client = await connect(url);
        onTestFinished(() => client.close());
        for (const queue of ["default", "slow"]) await client.configure(queue, { retention: { count: FLOWS * 10 } });
        const start = (): Program => startProgram(PROGRAM, [url, path]);
        const workers = [start(), start(), start()];
        let kills = 0;
        const nemesis = setInterval(() => {
          const [victim, other] = workers.filter(({ output }) => output.stdout.includes("ready"));
          if (victim === undefined || other === undefined) return;
          victim.child.kill("SIGKILL");
          workers.splice(workers.indexOf(victim), 1, start());
          kills++;
        }, KILL_EVERY_MS);
        onTestFinished(() => clearInterval(nemesis));

        // They come one after the other, so that workers die at every stage of them; the last ones when enough were killed.
        const flows: CreatedFlow[] = [];
        for (let number = 0; number < FLOWS; number++) {
          if (number >= FLOWS / 2) await until(() => kills >= (LEAST_KILLS * number) / FLOWS);
          flows.push(await client.flow(MEMBERS));
        }
        const completed = async (): Promise<number> => (await client.count({ type: "member", status: "completed" })).count;
        await until(async () => kills >= LEAST_KILLS && (await completed()) >= FLOWS * MEMBERS.length * 0.9);
        clearInterval(nemesis);
        await untilHurried(client, async () => (await completed()) === FLOWS * MEMBERS.length);
        for (const { id } of flows) {
          expect(await client.flows.wait(id)).toMatchObject({
            status: "completed",
            completed: MEMBERS.length,
            open: 0,
            failed: 0,
            cancelled: 0,
          });
        }
        const byFlow = Map.groupBy(readDeeds(path), ({ flow }) => flow);
        for (const { id, jobs } of flows) {
          expectOrder(byFlow.get(id)!, id);
          const attempts = await Promise.all(Object.values(jobs).map((job) => client.attempts(job)));
          for (const each of attempts) expect(each.filter(({ outcome }) => outcome === "completed")).toHaveLength(1);
        }

        await Promise.all(workers.map((worker) => worker.printed("ready")));
        for (const { child } of workers) child.kill("SIGTERM");
        for (const { ended } of workers) expect((await ended).code).toBe(0);
      },
    );
  });
}
