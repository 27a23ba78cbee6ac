import { expect, test } from "vitest";
import { type Counted, ErrorTally } from "../../../src/core/error-tally.ts";

const GROUP = "c01ce5bc068b";

/** Jobs of a type that died at the same time. */
function counted(type: string, firstJobId: string, sampleJobId: string): Counted {
  return { group: GROUP, type, hoursAgo: 0, count: 2, firstSeenAt: 1_000, lastSeenAt: 2_000, firstJobId, sampleJobId };
}

test("of jobs that died in the same millisecond, the order of ids says which was the first and the last, in whatever order they are counted", () => {
  const parts = [counted("mail", "id-2", "id-5"), counted("sms", "id-1", "id-6"), counted("fax", "id-3", "id-4")];
  for (const order of [parts, parts.toReversed()]) {
    const tally = new ErrorTally();
    for (const part of order) tally.add(part);
    expect(tally.top(1).groups).toMatchObject([{ group: GROUP, count: 6, firstJobId: "id-1", sampleJobId: "id-6" }]);
  }
});
