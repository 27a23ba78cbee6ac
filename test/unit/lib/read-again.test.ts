import { expect, test } from "vitest";
import { ReadAgain } from "../../../src/lib/read-again.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

/** A value whose reads end when the test says so. */
function held(): { value: ReadAgain<string>; reads: PromiseWithResolvers<string>[]; clock: VirtualClock } {
  const clock = new VirtualClock(0);
  const reads: PromiseWithResolvers<string>[] = [];
  const value = new ReadAgain(clock, "nothing", () => {
    const read = Promise.withResolvers<string>();
    reads.push(read);
    return read.promise;
  });
  return { value, reads, clock };
}

test("is as old as the beginning of its read, which concurrent callers share", async () => {
  const { value, reads, clock } = held();
  expect([value.value, value.ageMs]).toEqual(["nothing", Infinity]);
  const both = Promise.all([value.read(), value.read()]);
  await clock.advance(50);
  reads[0]!.resolve("one");
  expect(await both).toEqual(["one", "one"]);
  expect([value.value, value.ageMs, reads.length]).toEqual(["one", 50, 1]);
});

test("stays as it is after a read that fails, and the next call tries again", async () => {
  const { value, reads } = held();
  const both = Promise.allSettled([value.read(), value.read()]);
  reads[0]!.reject(new Error("away"));
  expect(await both).toMatchObject([{ reason: { message: "away" } }, { reason: { message: "away" } }]);
  expect([value.value, value.ageMs]).toEqual(["nothing", Infinity]);
  const next = value.read();
  reads[1]!.resolve("two");
  expect(await next).toBe("two");
});

test("is not taken from a read that began before it was forgotten, in whatever order reads end", async () => {
  const { value, reads } = held();
  const early = value.read();
  value.forget();
  const late = value.read();
  reads[1]!.resolve("new");
  expect(await late).toBe("new");
  reads[0]!.resolve("old");
  expect(await early).toBe("old");
  expect([value.value, value.ageMs, reads.length]).toEqual(["new", 0, 2]);
});

test("is known at once, though too old, after a read that was forgotten", async () => {
  const { value, reads } = held();
  const early = value.read();
  value.forget();
  reads[0]!.resolve("old");
  await early;
  expect([value.value, value.ageMs]).toEqual(["old", Infinity]);
});
