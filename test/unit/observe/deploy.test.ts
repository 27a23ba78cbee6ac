import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { SETTING_NAMES } from "../../../src/config.ts";
import { readConfig } from "../../../src/config/read-config.ts";
import { serve } from "../../../src/serve.ts";
import { type ReadFamily, readPrometheusText } from "./prometheus-text.ts";

/** What a server exports that has done a little of everything: not what it could, if it were put together another way. */
async function exported(): Promise<Map<string, ReadFamily>> {
  const env = { MILLRACE_URL: "memory:", PORT: "0", ENVIRONMENT: "development", DASHBOARD_ENABLED: "false", LOG_LEVEL: "silent" };
  const served = await serve(readConfig({ env }, SETTING_NAMES).config, { version: "0.0.0", handlers: { a: () => null } });
  onTestFinished(() => served.stop());
  const { url, client } = served;
  await client.configure("default", { capacity: 5 });
  const { id } = await client.enqueue("a");
  await client.wait(id);
  await fetch(`${url}/docs`);
  return readPrometheusText(await (await fetch(`${url}/metrics`)).text());
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Board {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

function read(file: string): string {
  return readFileSync(new URL(`../../../deploy/${file}`, import.meta.url), "utf8");
}

const board = JSON.parse(read("grafana/millrace.json")) as Board;
const alerts = read("prometheus/alerts.yml");
const expressions = [
  ...board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...board.templating.list.flatMap(({ definition = [] }) => definition),
  ...[...alerts.matchAll(/^ +expr: (?:>-\n((?: {10,}.*\n)+)|(.*)\n)/gm)].map(([, folded, plain]) => (folded ?? plain)!),
];

/** Every mention of a figure, with the labels that it is chosen by. */
const mentions = expressions.flatMap((expression) =>
  [...expression.matchAll(/\b((?:millrace|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(([, name = "", selector = ""]) => ({
    name,
    labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label),
  })),
);

describe("board and alerts", () => {
  test("name figures at all", () => {
    expect(mentions.length).toBeGreaterThan(50);
    expect(alerts.match(/alert:/g)?.length).toBe(expressions.length - board.panels.flatMap(({ targets = [] }) => targets).length - 2);
  });

  test("name only figures that are exported, by labels that these have", async () => {
    const families = await exported();
    const samples = [...families.values()].flatMap((family) => family.samples);
    const missing = mentions.flatMap(({ name, labels }) => {
      const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
      if (family === undefined || (family.type === "histogram") !== (family.name !== name)) return [name];
      const known = Object.keys(samples.find((sample) => sample.name === name)?.labels ?? { queue: "" });
      return labels.filter((label) => label !== "job" && !known.includes(label)).map((label) => `${name}{${label}}`);
    });
    expect(missing).toEqual([]);
  });

  test("watch for what must not go unseen", () => {
    const watched = ["millrace_queue_oldest_waiting_seconds", "millrace_leases_lost_total", "millrace_workers", "millrace_ready"];
    for (const name of [...watched, "millrace_event_loop_lag_p99_seconds", "millrace_store_up"]) expect(alerts).toContain(name);
    expect(alerts).toMatch(/status="dead".*> 10000/);
  });
});

describe("the board", () => {
  test("has panels with numbers and places of their own, each explained", () => {
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
    for (const { type, title, description = "", targets = [] } of board.panels) {
      expect(title).not.toBe("");
      if (type !== "row")
        expect({ title, description, queries: targets.length }).toEqual({
          title,
          description: expect.stringMatching(/\.$/) as string,
          queries: expect.toSatisfy((count) => count > 0) as number,
        });
    }
    const cells = board.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
