import { describe, expect, onTestFinished, test } from "vitest";
import { frameOf, sparkline } from "../../../src/cli/top/frame.ts";
import { FullScreen } from "../../../src/cli/top/screen.ts";
import { type Snapshot, toSnapshotJson, Watch } from "../../../src/cli/top/snapshot.ts";
import { textWidth } from "../../../src/cli/text-width.ts";
import type { Client } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import { fakeTerminal } from "./type-command.ts";

async function busyClient(): Promise<Client> {
  const client = await connect("memory:");
  onTestFinished(() => client.close({ grace: 0 }));
  await client.pause("held", { create: true });
  await client.enqueue("a", null, { queue: "held" });
  const worker = client.work({
    broken: () => {
      throw new Error("no \u001b[2Jluck");
    },
  });
  onTestFinished(() => worker.stop({ grace: 0 }));
  return client;
}

async function fail(client: Client): Promise<void> {
  const { id } = await client.enqueue("broken", null, { maxRetries: 0 });
  await client.wait(id);
}

const plain = { unicode: true, mark: "…", paint: (text: string) => text, store: "memory: (--url)", note: "q quits" };

async function look(): Promise<Snapshot> {
  const client = await busyClient();
  await fail(client);
  const watch = new Watch(client);
  await watch.start();
  return watch.look(Date.now());
}

describe("a frame", () => {
  test("shows queues, workers, figures and errors", async () => {
    const lines = frameOf(await look(), { ...plain, width: 120, height: 40 });
    expect(lines[0]).toMatch(/^millrace top +memory: \(--url\) {2}\d\d:\d\d:\d\d {2}q quits$/);
    expect(lines[1]).toBe("done 0   failed 1   retried 0   dead 1   workers 1   busy 0 of 10 slots");
    const text = lines.join("\n");
    expect(text).toMatch(/^held \(paused\) +1 +0 +0 +0 +0 +0 +0$/m);
    expect(text).toMatch(/^default +0 +0 +0 +0 +0 +0 +1$/m);
    expect(text).toMatch(/^w-\S+ +\S+ +idle +0\/10 /m);
    expect(text).toMatch(/^ +1x +\d+s +broken +no \\u001b\[2Jluck$/m);
  });

  test.for([
    [120, 40],
    [80, 24],
    [40, 12],
    [20, 10],
  ] as const)("fits a terminal of %d columns and %d lines", async ([width, height]) => {
    const snapshot = await look();
    const many = Array.from({ length: 30 }, (_, number) => ({
      type: `t${number}`,
      message: "long ".repeat(30),
      count: number,
      lastAt: snapshot.at,
    }));
    const queues = Object.fromEntries(Array.from({ length: 30 }, (_, number) => [`queue-${number}`, snapshot.stats.queues["default"]!]));
    const lines = frameOf({ ...snapshot, errors: many, stats: { ...snapshot.stats, queues } }, { ...plain, width, height });
    expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(width);
    if (height >= 24) {
      expect(lines.length).toBeLessThanOrEqual(height);
      expect(lines.filter((line) => /^and \d+ more$/.test(line))).toHaveLength(2);
    }
  });

  test("draws how the rate went", () => {
    expect(sparkline([0, 1, 2, 4, 8], true)).toBe("▁▂▃▅█");
    expect(sparkline([0, 8], false)).toBe("_@");
    expect(sparkline([0, 0], true)).toBe("▁▁");
    expect(sparkline([], true)).toBe("");
  });
});

describe("a watch", () => {
  test("begins with the dead letters that are there, and counts what fails from then on", async () => {
    const client = await busyClient();
    await fail(client);
    const watch = new Watch(client);
    await watch.start();
    const ending = new AbortController();
    const listening = watch.listen(ending.signal);
    await fail(client);
    const { errors } = await watch.look(Date.now());
    expect(errors).toEqual([{ type: "broken", message: "no \u001b[2Jluck", count: 2, lastAt: expect.any(Number) as number }]);
    ending.abort();
    await listening;
  });

  test("measures the rate from one look to the next", async () => {
    const client = await connect("memory:");
    onTestFinished(() => client.close({ grace: 0 }));
    client.work({ a: () => null });
    const watch = new Watch(client);
    await watch.look(1000);
    const jobs = await Promise.all([client.enqueue("a"), client.enqueue("a")]);
    for (const { id } of jobs) await client.wait(id);
    expect((await watch.look(2000)).rates).toEqual([2]);
    expect((await watch.look(4000)).rates).toEqual([2, 0]);
  });

  test("for programs has the shapes of the API", async () => {
    expect(toSnapshotJson(await look())).toMatchObject({
      at: expect.stringMatching(/Z$/) as string,
      stats: { dead_count: 1, total_failed: 1 },
      workers: [{ slots: 10, running_count: 0 }],
      errors: [{ type: "broken", count: 1, last_at: expect.stringMatching(/Z$/) as string }],
    });
  });
});

describe("a screen", () => {
  test("writes only the lines that changed, and leaves the terminal as it was", () => {
    const { stdout, stdin } = fakeTerminal([], { isTTY: true });
    const screen = new FullScreen({ screen: stdout, input: stdin, onKey: () => {}, onResize: () => {} });
    screen.open();
    expect(stdout.text).toBe("\u001b[?1049h\u001b[?25l\u001b[2J");
    stdout.text = "";
    screen.draw(["one", "two", "three"]);
    expect(stdout.text).toBe("\u001b[1;1Hone\u001b[K\u001b[2;1Htwo\u001b[K\u001b[3;1Hthree\u001b[K");
    stdout.text = "";
    screen.draw(["one", "2"]);
    expect(stdout.text).toBe("\u001b[2;1H2\u001b[K\u001b[3;1H\u001b[K");
    stdout.text = "";
    screen.draw(["one", "2"]);
    expect(stdout.text).toBe("");
    screen.close();
    screen.close();
    expect(stdout.text).toBe("\u001b[?25h\u001b[?1049l");
  });

  test("draws all of it again after a change of its size, and no more than fits", () => {
    const { stdout, stdin } = fakeTerminal([], { isTTY: true });
    const screen: FullScreen = new FullScreen({
      screen: stdout,
      input: stdin,
      onKey: () => {},
      onResize: () => screen.draw(["one", "two"]),
    });
    screen.open();
    screen.draw(["one", "two"]);
    stdout.text = "";
    stdout.rows = 1;
    stdout.emit("resize");
    expect(stdout.text).toBe("\u001b[2J\u001b[1;1Hone\u001b[K");
    screen.close();
  });
});
