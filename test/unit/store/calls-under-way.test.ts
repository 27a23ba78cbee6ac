import { expect, test } from "vitest";
import { CallsUnderWay } from "../../../src/store/calls-under-way.ts";

test("a call is refused at once while ten thousand others wait", async () => {
  const calls = new CallsUnderWay("a server");
  const gate = Promise.withResolvers<void>();
  const waiting = Array.from({ length: 10_000 }, () => calls.run(() => gate.promise));
  await expect(calls.run(async () => 1)).rejects.toMatchObject({
    code: "store_unavailable",
    message: "10000 calls already wait for a server. Try again later",
    retryAfterMs: 1_000,
  });
  gate.resolve();
  await Promise.all(waiting);
  expect(await calls.run(async () => 1)).toBe(1);
});

test("where nobody is waited for there is no bound", async () => {
  const calls = new CallsUnderWay();
  const answers = await Promise.all(Array.from({ length: 10_001 }, (_, index) => calls.run(async () => index)));
  expect(answers.at(-1)).toBe(10_000);
});

test("close refuses more and waits for those under way, also for one that fails", async () => {
  const calls = new CallsUnderWay();
  const gate = Promise.withResolvers<void>();
  const failing = calls.run(() => gate.promise).catch(() => "failed");
  const ended: string[] = [];
  const closed = [calls.close(), calls.close()].map((closing) => closing.then(() => ended.push("closed")));
  await expect(calls.run(async () => 1)).rejects.toMatchObject({ code: "closed" });
  expect(ended).toEqual([]);
  gate.reject(new Error("no"));
  expect(await failing).toBe("failed");
  await Promise.all(closed);
});
