import { expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { StoreCheck } from "../../../src/http/store-check.ts";
import { sleep } from "../../../src/lib/clock.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

/** A number is how long an answer takes, in milliseconds. */
type Store = "answers" | "fails" | "is silent" | number;

/** A check of a store that can be told how to be, on a clock turned by hand. */
function checked(): { clock: VirtualClock; check: StoreCheck; looks: () => number; let: (store: Store) => void } {
  const clock = new VirtualClock(0);
  let store: Store = "answers";
  let looks = 0;
  const exchange = (): Promise<unknown> => {
    looks++;
    if (store === "is silent") return new Promise(() => {});
    if (typeof store === "number") return sleep(clock, store);
    return store === "answers" ? Promise.resolve({ answers: [], jobs: [] }) : Promise.reject(new Error("away"));
  };
  const leases = { exchange } as unknown as Client["leases"];
  return { clock, check: new StoreCheck({ leases }, clock), looks: () => looks, let: (now) => (store = now) };
}

/** The answer, which needs no more time than this. */
async function answerWithin(clock: VirtualClock, ms: number, check: StoreCheck): Promise<boolean | "no answer"> {
  let answer: boolean | "no answer" = "no answer";
  void check.answers().then((told) => (answer = told));
  await clock.advance(ms);
  return answer;
}

test("tells at once what the first look sees", async () => {
  const { clock, check } = checked();
  expect(await answerWithin(clock, 0, check)).toBe(true);
});

test("says no within 200 ms although the store never answers", async () => {
  const { clock, check, let: store } = checked();
  store("is silent");
  expect(await answerWithin(clock, 200, check)).toBe(false);
});

test("goes by the last look while the next is under way, and not for long", async () => {
  const { clock, check, let: store } = checked();
  expect(await answerWithin(clock, 0, check)).toBe(true);
  store("is silent");
  await clock.advance("2s");
  expect(await answerWithin(clock, 0, check)).toBe(true);
  await clock.advance("5s");
  expect(await answerWithin(clock, 200, check)).toBe(false);
});

test("knows before the first question what a store answers that is slow at first", async () => {
  const { clock, check, let: store } = checked();
  store(3000);
  check.start();
  await clock.advance("4s");
  expect(await answerWithin(clock, 0, check)).toBe(true);
});

test("keeps no timer until somebody asks", async () => {
  const { clock, check, looks } = checked();
  check.start();
  await clock.advance("10m");
  expect(looks()).toBe(1);
});

test.each([
  { questions: "every second", ms: 1000 },
  { questions: "every 2 minutes", ms: 120_000 },
  { questions: "every 15 minutes", ms: 900_000 },
])("says yes all the time of a store that takes 4 s for each answer: asked $questions", async ({ ms }) => {
  const { clock, check, let: store } = checked();
  store(4000);
  check.start();
  await clock.advance("5s");
  for (let asked = 0; asked < 20; asked++) {
    expect(await answerWithin(clock, 200, check)).toBe(true);
    await clock.advance(ms - 200);
  }
});

test("says no all the time of a store that takes 6 s for each answer", async () => {
  const { clock, check, let: store } = checked();
  store(6000);
  check.start();
  for (let asked = 0; asked < 30; asked++) {
    expect(await answerWithin(clock, 200, check)).toBe(false);
    await clock.advance("1s");
  }
});

test("sees by itself that the store failed and that it came back", async () => {
  const { clock, check, let: store } = checked();
  await answerWithin(clock, 0, check);
  store("fails");
  await clock.advance("3s");
  expect(await answerWithin(clock, 0, check)).toBe(false);
  store("answers");
  await clock.advance("3s");
  expect(await answerWithin(clock, 0, check)).toBe(true);
});

test("looks once at a time, and no more when nobody has asked for a while", async () => {
  const { clock, check, looks, let: store } = checked();
  store("is silent");
  for (let asked = 0; asked < 20; asked++) void check.answers();
  await clock.advance("60s");
  expect(looks()).toBe(1);
  const other = checked();
  await answerWithin(other.clock, 0, other.check);
  await other.clock.advance("11m");
  const seen = other.looks();
  await other.clock.advance("11m");
  expect(other.looks()).toBe(seen);
});
