import { expect, test } from "vitest";
import { EndedSessions } from "../../../src/http/ended-sessions.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

const ANN = { name: "ann", until: Number.MAX_SAFE_INTEGER };
const VIC = { name: "vic", until: Number.MAX_SAFE_INTEGER };

/** Sessions that were ended on another server, of a store that answers the first question when it is let. */
function endedElsewhere(...names: string[]): { clock: VirtualClock; ended: EndedSessions; answer: () => void } {
  const clock = new VirtualClock(0);
  const { promise: first, resolve: answer } = Promise.withResolvers<void>();
  let questions = 0;
  const marked = async (asked: readonly string[]): Promise<boolean[]> => {
    if (questions++ === 0) await first;
    return asked.map((name) => names.includes(name));
  };
  const marks = { mark: () => Promise.resolve(), marked };
  return { clock, ended: new EndedSessions({ marks, clock }), answer };
}

test("a question that was not answered in time lets nobody else in", async () => {
  const { clock, ended } = endedElsewhere("vic");
  const slow = ended.isEnded(ANN);
  await clock.advance("1s");
  expect(await slow).toBe(false);
  expect(await ended.isEnded(VIC)).toBe(true);
});

test("an answer that comes late is known from then on", async () => {
  const { clock, ended, answer } = endedElsewhere("ann");
  const slow = ended.isEnded(ANN);
  await clock.advance("1s");
  expect(await slow).toBe(false);
  answer();
  expect(await ended.isEnded(ANN)).toBe(true);
});
