// The bench measures what it says, and docs/engines.md shows what it has measured. How fast anything is, is no test.

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { memory } from "../bench/engines/memory.ts";
import { sqlite } from "../bench/engines/sqlite.ts";
import type { Engine } from "../bench/engines/engine.ts";
import { type Figure, measuredFrom } from "../bench/figure.ts";
import { runStretch } from "../bench/measure/drain.ts";
import { readOptions } from "../bench/options.ts";
import { pageTable } from "../bench/page-table.ts";
import { reportOf } from "../bench/report.ts";
import { runEngine } from "../bench/run.ts";
import { SCENARIOS } from "../bench/scenarios/all.ts";
import { MEASURED, readStored, type Stored } from "../bench/stored.ts";
import { loadTree, OUR_FOLDER } from "../bench/tree.ts";
import { STATE } from "../src/store/numbers.ts";

const figure: Figure = {
  engine: "redis",
  scenario: "drain",
  what: "drain, handlers of 0 ms",
  of: "100 slots",
  unit: "jobs/s",
  ours: { name: "Millrace", kind: "ours", ...measuredFrom([300, 100, 200], "jobs/s") },
  others: [
    { name: "BullMQ", kind: "peer", ...measuredFrom([50, 60, 40], "jobs/s") },
    { name: "Bee-Queue", kind: "peer", ...measuredFrom([200, 150, 100], "jobs/s") },
  ],
};

describe("docs/engines.md", () => {
  const page = readFileSync(new URL("../docs/engines.md", import.meta.url), "utf8");
  const shown = /<!-- measured -->\n([\s\S]*)<!-- end of measured -->/.exec(page)?.[1];

  test("shows the stored figures, as `npm run bench -- --table` prints them", () => {
    expect(plainLines(shown!)).toEqual(plainLines(pageTable(readStored(MEASURED))));
  });

  test("has a row for all figures of a kind, with ours, bare statements and others", () => {
    const ten = { ...figure, of: "10 slots", others: [{ name: "bare, 2 × 5", kind: "bare", ...measuredFrom([400], "jobs/s") } as const] };
    const machine = { node: "24.1.0", cpus: 2, cpu: "fast", load: 0 };
    const extent = { seconds: 3, rounds: 3, stored: 1, grown: 1, turnovers: 1 };
    const run: Stored = { engine: "redis", about: "Redis 7", machine, extent, peers: ["bullmq 6.7.0"], figures: [ten, figure] };
    const lines = [
      "| | Millrace | bare | others |",
      "| --- | --- | --- | --- |",
      "| Redis: drain, handlers of 0 ms; 10 slots · 100 slots (jobs/s) | 300 · 300 | 400 · – | BullMQ – · 60; Bee-Queue – · 200 |",
      "- Redis 7: the best of 3 rounds of at least 3 s, on 2 CPUs (fast), Node 24.1.0, load 0 before the run.",
      "- Other queues: bullmq 6.7.0.",
    ];
    expect(plainLines(pageTable([run]))).toEqual(lines);
    expect(plainLines(shown!)).not.toEqual(lines);
  });

  /** The formatter aligns the columns of a table. */
  function plainLines(text: string): string[] {
    return text
      .split("\n")
      .map((line) => line.replaceAll(/\s+/g, " ").replaceAll(/-{3,}/g, "---").trim())
      .filter((line) => line !== "");
  }
});

describe("a scenario", () => {
  test("compares ours with another checkout", async () => {
    const only = ["enqueue", "enqueue-and-drain", "pick-up", "urgent"];
    const { figures, failures } = await measure(memory, only, OUR_FOLDER);
    expect(failures).toEqual([]);
    expect(new Set(figures.map(({ scenario }) => scenario))).toEqual(new Set(only));
    for (const { ours, others } of figures) {
      expect(ours.best).toBeGreaterThan(0);
      expect(others.filter(({ kind }) => kind === "before")).toMatchObject([{ best: expect.any(Number), rounds: [expect.any(Number)] }]);
    }
  });

  test("drains bare statements that fit today's tables, to the last job", async () => {
    await using stack = new AsyncDisposableStack();
    const site = stack.adopt(await sqlite.openSite(), (site) => site.close());
    const { url } = stack.adopt(await site.fresh(), (place) => place.close());
    const bare = stack.adopt(await sqlite.openBare!({ url }), (bare) => bare.close());
    expect(await runStretch(bare, { slots: 100, handlerMs: 0 }, 250)).toMatchObject({ of: 250, jobs: 150 });
    const db = stack.adopt(new DatabaseSync(url.slice("sqlite:".length)), (db) => db.close());
    expect(db.prepare("select count(*) as completed from millrace_job where state = ?").get(STATE.completed)).toEqual({ completed: 250 });
  });

  test("tells who failed, and measures the others", async () => {
    const broken: Engine = { ...sqlite, openBare: () => Promise.reject(new Error("no such table")) };
    const { figures } = await measure(broken, ["enqueue"]);
    expect(figures[1]?.others).toEqual([{ name: "bare, 1 × 100", kind: "bare", failure: "no such table" }]);
    expect(reportOf(figures)).toMatch(/no such table .*at least 0.8: unknown/);
  });

  async function measure(engine: Engine, names: readonly string[], against?: string) {
    const ours = await loadTree(OUR_FOLDER);
    return runEngine(
      engine,
      SCENARIOS.filter(({ name }) => names.includes(name)),
      {
        trees: against === undefined ? [ours] : [ours, await loadTree(against)],
        withPeers: false,
        extent: { seconds: 0.01, rounds: 1, stored: 200, grown: 200, turnovers: 200 },
        tell: () => {},
      },
    );
  }
});

describe("the report", () => {
  test("has best and median of the rounds, the ratio of each, and what is missed", () => {
    expect(
      reportOf([figure])
        .split("\n")
        .slice(2)
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ["drain, handlers of 0 ms, 100 slots", "300 (200) jobs/s", "BullMQ", "60 (50)", "5.00 (4.00)", "at least 4"],
      ["", "Bee-Queue", "200 (150)", "1.50 (1.33)", "at least 2.5: missed"],
    ]);
  });

  test("takes the least time for the best", () => {
    expect(measuredFrom([3, 1, 2], "ms")).toMatchObject({ best: 1, median: 2 });
  });
});

test.each([
  [["--engine", "oracle"], "--engine: there is no oracle, only memory, sqlite, postgres, redis"],
  [["--rounds", "1.5"], "--rounds must be a whole number"],
  [["--seconds", "x"], "--seconds must be a number from 0.01 to 600"],
  [["--quick"], "Unknown option '--quick'"],
])("%s is refused", (args, reason) => {
  expect(() => readOptions(args)).toThrow(reason);
});

test("what takes long must be asked for", () => {
  const names = (...args: string[]): string[] => readOptions(args).scenarios.map(({ name }) => name);
  expect(names()).not.toContain("growth");
  expect(names("--growth")).toEqual(expect.arrayContaining(["enqueue", "growth", "churn"]));
  expect(names("--only", "churn,enqueue")).toEqual(["enqueue", "churn"]);
});
