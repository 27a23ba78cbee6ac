import { describe, expect, onTestFinished, test } from "vitest";
import { textWidth } from "../../../src/cli/text-width.ts";
import type { Client } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import { createServer, listen } from "../../../src/server.ts";
import { folderOfOwn, typeCommand } from "./type-command.ts";

type Ended = Awaited<ReturnType<typeof typeCommand>>;

/** Commands against a server over memory, and the client behind it. */
async function openLimits(): Promise<{ client: Client; type: (line: string, columns?: number) => Promise<Ended> }> {
  const client = await connect("memory:");
  const listening = await listen(createServer(client, { keys: ["ops:admin+read+enqueue+work:s3cret"] }), { port: 0 });
  onTestFinished(async () => {
    await listening.close({ graceMs: 0 });
    await client.close({ grace: 0 });
  });
  const cwd = folderOfOwn();
  const env = { MILLRACE_URL: listening.url, API_KEY: "s3cret", NO_COLOR: "1", LANG: "C.UTF-8" };
  return {
    client,
    type: (line, columns) => typeCommand(line.split(" "), { cwd, env, ...(columns === undefined ? {} : { isTTY: true, columns }) }),
  };
}

const lines = ({ stdout }: Ended): string[] => stdout.trimEnd().split("\n");

describe("limits", () => {
  test("of a queue are set one by one, shown, and removed with none", async () => {
    const { client, type } = await openLimits();
    expect(await type("limits set mail --running 50 --rate 100/s")).toMatchObject({ code: 3 });
    expect(await type("limits set mail --running 50 --rate 100/s --burst 20 --create")).toMatchObject({ code: 0 });
    expect(await type("limits set mail --per-key-running 2 --per-key-waiting 10000")).toMatchObject({ code: 0 });
    const perKey = { running: 2, rate: null, waiting: 10_000 };
    expect((await client.queue("mail"))?.limits).toEqual({ running: 50, rate: "100/s", burst: 20, perKey });
    const shown = await type("limits mail");
    expect(lines(shown)).toEqual([
      "queue      mail",
      "running    0 of 50",
      "rate       100/s, burst 20; next start now",
      "each key   running 2, waiting 10,000",
    ]);
    expect(JSON.parse((await type("limits mail --json")).stdout)).toMatchObject({ queue: "mail", running: 0, limits: { per_key: perKey } });
    expect(lines(await type("limits"))[1]).toMatch(/^mail +0 of 50 +100\/s, burst 20 +running 2, waiting 10,000$/);
    await type("limits set mail --rate 5/s");
    expect((await client.queue("mail"))?.limits).toEqual({ running: 50, rate: "5/s", burst: 1, perKey });
    await type("limits set mail --running none --rate none --per-key-running none --per-key-waiting none");
    expect((await client.queue("mail"))?.limits).toBeNull();
    expect((await type("limits mail")).stderr).toMatch(/queue mail has no limits/);
    expect((await type("limits")).stderr).toBe("no queue has limits\n");
  });

  test("of a key are set, listed and removed, with a reason", async () => {
    const { client, type } = await openLimits();
    await client.configure("mail", { limits: { perKey: { running: 2 } } });
    expect(await type("limits set mail --key customer-7 --running 10 --rate 50/s --weight 3 --reason paid")).toMatchObject({ code: 0 });
    await type("limits set mail --key customer-7 --rate none --waiting 5");
    await type("limits set mail --without-key --weight 2");
    expect(await client.limits.get("mail", "customer-7")).toEqual({ running: 10, rate: null, waiting: 5, weight: 3 });
    expect((await client.audit({ queue: "mail" })).entries.map(({ reason }) => reason)).toContain("paid");
    expect(lines(await type("limits list mail"))).toEqual([
      "KEY         RUNNING  RATE  WAITING  WEIGHT",
      "(no key)                                 2",
      "customer-7       10  none        5       3",
    ]);
    expect(lines(await type("limits mail"))).toContain("no key     weight 2");
    expect((await type("limits list mail --limit 1")).stderr).toMatch(/^there are more: continue with --cursor \S+\n$/);
    expect((await type("limits list mail --json")).stdout).toContain(`{"key":null,"limits":{"weight":2}}\n`);
    expect(await type("limits remove mail --key customer-7")).toMatchObject({ code: 0 });
    expect(await type("limits remove mail --key customer-7")).toMatchObject({ code: 3 });
    expect(await type("limits remove mail --without-key --json")).toMatchObject({ stdout: `{"queue":"mail","key":null,"removed":true}\n` });
    expect(await type("limits list mail")).toMatchObject({ stderr: "no limit key of queue mail has limits of its own\n" });
  });

  test("show the busiest keys within 80 columns, and a job says its key and why it waits", async () => {
    const { client, type } = await openLimits();
    await client.configure("mail", {
      limits: { running: 5, rate: "100/s", burst: 100, perKey: { running: 1, rate: "20/10s", burst: 5, waiting: 10_000 } },
    });
    const long = `customer-${"x".repeat(200)}`;
    const held = await type(`enqueue send --queue mail --limit-key ${long} --cost 2`);
    const waits = await type(`enqueue send --queue mail --limit-key ${long}`);
    await type("enqueue send --queue mail --limit-key acme");
    const claim = { workerId: "w", queues: ["mail"], types: "*", limit: 1, leaseMs: 60_000, turn: 1, again: false } as const;
    const { jobs } = await client.leases.exchange([], claim);
    expect(jobs.map(({ job }) => job.id)).toEqual([held.stdout.trim()]);
    const shown = lines(await type("limits mail", 80));
    expect(shown.filter((line) => textWidth(line) > 80)).toEqual([]);
    expect(shown.find((line) => line.startsWith("KEY"))).toMatch(/^KEY +RUNNING +WAITING +RATE +NEXT/);
    expect(shown.find((line) => line.includes("1 of 1"))).toMatch(/^cust.*…/);
    expect((await type(`status ${held.stdout.trim()}`)).stdout).toMatch(/\nlimit key +customer-x+\ncost +2\n/);
    expect((await type(`explain ${waits.stdout.trim()}`)).stdout).toMatch(/^no worker .*\nlimit running +1 job of limit key/);
    expect(lines(await type(`list --limit-key ${long} --ids`))).toHaveLength(2);
    for (const line of ["limits show mail --key acme", "limits mail --key acme", "limits --key acme mail"]) {
      expect(lines(await type(line)).at(-1)).toMatch(/^acme +0 of 1 +1 of 10,000/);
    }
  });

  test.each([
    ["limits set mail --running 0", /^millrace: --running must be a whole number from 1/],
    ["limits set mail --rate fast", /^millrace: --rate must be a rate such as/],
    ["limits set mail --per-key-rate fast", /^millrace: --per-key-rate must be a rate such as/],
    ["limits set mail --per-key-running x", /^millrace: --per-key-running must be a whole number/],
    ["limits set mail --burst 5", /^millrace: --burst must be given together with a rate/],
    ["limits set mail --key a --weight 0", /^millrace: --weight must be a whole number from 1 to 100/],
    ["limits set mail --key a --without-key --weight 2", /^millrace: pass --key or --without-key, not both/],
    ["limits set mail --key a --per-key-running 2", /^millrace: --per-key-… is for the whole queue/],
    ["limits set mail --weight 2", /^millrace: --weight needs --key or --without-key/],
    ["limits set mail --waiting 2", /^millrace: --waiting needs --key; for every key, use --per-key-waiting/],
    ["limits set mail", /^millrace: nothing to set/],
    ["limits set mail --key a", /^millrace: nothing to set/],
    ["limits remove mail", /^millrace: name the limit key with --key/],
    ["limits set", /^millrace: missing required argument 'queue'/],
    ["limits nowhere and more", /^millrace: too many arguments/],
    ["enqueue t --cost 0", /^millrace: --cost must be a whole number from 1/],
  ])("%s is refused in words", async (line, words) => {
    const { client, type } = await openLimits();
    await client.configure("mail", { capacity: 5 });
    const { code, stderr } = await type(line);
    expect(stderr).toMatch(words);
    expect(code).toBe(2);
  });

  test("of a queue that is not there are not found", async () => {
    const { type } = await openLimits();
    expect(await type("limits nowhere")).toMatchObject({ code: 3, stderr: "millrace: there is no queue nowhere\n" });
  });
});
