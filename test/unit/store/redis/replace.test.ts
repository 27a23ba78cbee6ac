import { expect, onTestFinished, test } from "vitest";
import type { NewJob } from "../../../../src/core/job.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { CANCEL } from "../../../../src/core/lifecycle.ts";
import { encodeJobs } from "../../../../src/store/redis/insert.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { INSERT } from "../../../../src/store/redis/statements/insert.ts";
import { REPLACE } from "../../../../src/store/redis/statements/replace.ts";
import type { Store } from "../../../../src/store/store.ts";
import { TcpProxy } from "../../../servers/tcp-proxy.ts";
import { contentsOf } from "./contents.ts";
import { claim, jobOf, openAt, prefix } from "./open.ts";
import { serverOfThisFile } from "./server-of-this-file.ts";

const { server, redis } = serverOfThisFile();

const NOW = "1800000000000";
const evaluate = (text: string, at: string, ...args: readonly string[]): Promise<unknown> =>
  redis().eval(text, 2, `${at}:{0}:v`, `${at}:{0}:none`, NOW, ...args);
const insert = (at: string, seq: string, job: NewJob): Promise<unknown> => evaluate(INSERT.text, at, seq, "1", "", ...encodeJobs([job]));

/** What one job may have before its first claim, beside how it waits. */
const RICH: Partial<NewJob> = { facets: { n: "1" }, limitKey: "k", cost: 3, tags: ["t"], meta: '"m"', startWithinMs: 5_000, priority: -10 };
const parent = { id: jobOf().id, step: "s", life: 1 };
const PAIRS: readonly (readonly [old: Partial<NewJob>, wishes: Partial<NewJob>])[] = [
  [{}, {}],
  [RICH, {}],
  [{}, RICH],
  [RICH, { ...RICH, facets: { n: "2" }, cost: 1, parent }],
  [
    { ...RICH, parent },
    { ...RICH, limitKey: "other", priority: 20 },
  ],
];

/**
 * What is stored of jobs: all but counters and how many jobs there were, which go on; and lanes that had a job and rings that had a line, which
 * claims forget when they find them empty.
 */
async function standing(at: string): Promise<Record<string, unknown>> {
  const contents = Object.entries(await contentsOf(redis(), at)).filter(([key]) => !/^:\{0\}:(p[mh]$|[mhcav]:|v$|lp:|qs:)/.test(key));
  const zero = Buffer.from("0").toString("hex");
  const withoutZeros = (value: unknown): unknown =>
    Object.fromEntries(Object.entries(value as object).filter(([, count]) => count !== zero));
  return Object.fromEntries(contents.map(([key, value]) => [key, key.startsWith(":{0}:t:") ? withoutZeros(value) : value]));
}

test.each([
  ["pending", {}],
  ["scheduled", { delayMs: 60_000 }],
  ["blocked", { blocked: true }],
])("a job in place of one that is %s is stored exactly as if it were the only one", async (_, before) => {
  for (const after of [{}, { delayMs: 5_000 }, { runAt: Number(NOW) + 1 }]) {
    for (const [old, wishes] of PAIRS) {
      const [replaced, inserted] = [prefix(), prefix()];
      const job = jobOf({ ...old, ...before });
      const next = { ...jobOf({ payload: '"new"', ...wishes, ...after }), id: job.id };
      await insert(replaced, "1000", job);
      expect(await evaluate(REPLACE.text, replaced, ...encodeJobs([next]))).toBeInstanceOf(Array);
      const seq = (await redis().hget(`${replaced}:{0}:v`, "seq"))!;
      await insert(inserted, seq, { ...next, ...("blocked" in before ? before : {}) });
      expect(await standing(replaced)).toEqual(await standing(inserted));
    }
  }
});

test("a job that is missing or was claimed changes nothing", async () => {
  const at = prefix();
  const job = jobOf({ ...RICH, blocked: true });
  expect(await evaluate(REPLACE.text, at, ...encodeJobs([job]))).toBe("m");
  expect(await contentsOf(redis(), at)).toEqual({});
  const store = await openAt(server().url);
  onTestFinished(() => store.close());
  const claimed = jobOf(RICH);
  await store.insert([claimed]);
  await claim(store);
  await store.change([claimed.id], CANCEL);
  expect(await store.replace([claimed, job])).toEqual(["refused", "missing"]);
  expect((await store.queues())[0]!.counts).toEqual([{ status: "cancelled", level: "low", count: 1 }]);
});

test("a full server refuses it with nothing done", async () => {
  const store = await openAt(server().url);
  onTestFinished(() => store.close());
  const job = jobOf(RICH);
  await store.insert([job]);
  await redis().config("SET", "maxmemory", "1");
  onTestFinished(async () => void (await redis().config("SET", "maxmemory", "0")));
  await expect(store.replace([{ ...job, payload: '"new"' }])).rejects.toMatchObject({ code: "store_full" });
  await redis().config("SET", "maxmemory", "0");
  expect(await store.find([job.id])).toMatchObject([{ payload: "null", status: "pending", facets: { n: "1" }, limitKey: "k" }]);
});

test("one whose answer is lost is put there again; if it was claimed meanwhile, its caller is told that this is unknown", async () => {
  const at = prefix();
  const wire = await TcpProxy.to(Number(new URL(server().url).port));
  const open = (url: string): Promise<Store> => openRedisStore(`${url}?prefix=${at}`, { clock: systemClock, deadlineMs: 10_000 });
  const [store, other] = await Promise.all([open(`redis://127.0.0.1:${wire.port}`), open(server().url)]);
  onTestFinished(async () => {
    await Promise.all([store.close(), other.close()]);
    wire.close();
  });
  const job = jobOf();
  await store.insert([job]);
  // The first call has the server learn the script.
  await store.replace([{ ...job, payload: '"first-word"' }]);
  const swallowed = wire.swallowAnswerTo(/second-word/);
  const replaced = store.replace([{ ...job, payload: '"second-word"' }]);
  await swallowed;
  expect(await replaced).toEqual(["ok"]);

  const swallowedAgain = wire.swallowAnswerTo(/third-word/);
  const unknown = store.replace([{ ...job, payload: '"third-word"' }]);
  const told = unknown.catch((error: unknown) => error);
  await swallowedAgain;
  wire.swallow(/third-word/, 1);
  expect(await claim(other)).toMatchObject([{ id: job.id, payload: '"third-word"' }]);
  wire.heal();
  expect(await told).toMatchObject({ code: "store_unavailable", message: expect.stringContaining("was lost") as string });
});
