import { describe, expect, test } from "vitest";
import { checkHistory } from "./check-history.ts";
import { doubtful } from "./good/doubtful.ts";
import { unusual } from "./good/unusual.ts";
import { Tale } from "./tale.ts";

describe("a history is sound in which", () => {
  test.each([...doubtful, ...unusual])("%s", (_name, tell) => {
    expect(checkHistory(tell(new Tale()), { timed: true, epsilonMs: 20 })).toEqual([]);
  });
});
