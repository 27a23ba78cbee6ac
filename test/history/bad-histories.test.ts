import { describe, expect, test } from "vitest";
import { attempts } from "./bad/attempts.ts";
import type { BadHistory } from "./bad/bad-history.ts";
import { durable } from "./bad/durable.ts";
import { flows } from "./bad/flows.ts";
import { leases } from "./bad/leases.ts";
import { limits } from "./bad/limits.ts";
import { losses } from "./bad/losses.ts";
import { operations } from "./bad/operations.ts";
import { order } from "./bad/order.ts";
import { records } from "./bad/records.ts";
import { strangers } from "./bad/strangers.ts";
import { checkHistory, FAMILIES } from "./check-history.ts";
import { Tale } from "./tale.ts";
import { INVARIANTS, type Invariant } from "./violation.ts";

const HISTORIES: readonly BadHistory[] = [
  ...losses,
  ...leases,
  ...attempts,
  ...order,
  ...limits,
  ...records,
  ...operations,
  ...strangers,
  ...durable,
  ...flows,
];

const cases = HISTORIES.map(([invariant, name, tell, also = []]) => ({ invariant, name, tell, also }));

describe("a history in which", () => {
  test.each(cases)("$name ($invariant) is found out", ({ invariant, tell, also }) => {
    const lines = tell(new Tale());
    const violations = checkHistory(lines, { timed: true, epsilonMs: 20 });
    // This, and nothing that is not so.
    expect(new Set(violations.map((violation) => violation.invariant))).toEqual(new Set([invariant, ...also]));
    for (const { job, lines: shown } of violations) {
      expect(shown.every((line) => lines[line - 1] !== undefined)).toBe(true);
      expect(shown.length).toBeGreaterThan(0);
      if (job !== null) expect(shown.some((line) => JSON.stringify(lines[line - 1]).includes(`"${job}"`))).toBe(true);
    }
  });
});

test("every invariant has a history that breaks it", () => {
  const broken = new Set(HISTORIES.map(([invariant]) => invariant));
  expect(Object.keys(INVARIANTS).filter((invariant) => !broken.has(invariant as Invariant))).toEqual([]);
  expect(new Set(FAMILIES.flatMap(({ covers }) => covers))).toEqual(new Set(Object.keys(INVARIANTS)));
});
