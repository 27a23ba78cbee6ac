import { describe, expect, test } from "vitest";
import { filterWords } from "../../../src/dashboard/filter-words.ts";
import { localTime } from "../../../src/dashboard/format.ts";

const NOW = Date.UTC(2026, 2, 1, 10, 0, 30);
const HOUR_MS = 3_600_000;

describe("a filter in words", () => {
  test.each([
    [
      { status: ["dead"], type: "email:send", queue: "mail", from: NOW - HOUR_MS - 30_000 },
      "Dead jobs of type email:send in mail, created in the last hour.",
    ],
    [{ status: ["failed_only"] }, "Failed jobs."],
    [{ status: ["failed"] }, "Failed and dead jobs."],
    [{ status: ["pending", "scheduled"], priority: 7, tag: "vip" }, "Pending and scheduled jobs with priority 7 with the tag vip."],
    [{ status: ["dead"], q: "a b", internal: true }, 'Dead jobs that contain "a b", internal ones included.'],
    [{ status: ["dead"], flow: "01a1" }, "Dead jobs of the flow 01a1."],
    [{ status: ["dead"], queue: "mail", limitKey: "acme" }, 'Dead jobs in mail with the limit key "acme".'],
    [{ status: ["dead"], from: NOW - 2 * HOUR_MS }, `Dead jobs, created since ${localTime(NOW - 2 * HOUR_MS)}.`],
    [{ status: ["dead"], to: new Date(NOW).toISOString() }, `Dead jobs, created before ${localTime(NOW)}.`],
    [{ status: ["dead"], later: "7d" }, 'Dead jobs, later "7d".'],
  ])("%j", (filter, words) => {
    expect(filterWords(filter, NOW, null)).toBe(words);
  });

  test("names an error group by what the error says, or else by its id", () => {
    const filter = { status: ["dead"], group: "40e5f16b5ed8" };
    expect(filterWords(filter, NOW, "Error: boom")).toBe('Dead jobs with the error "Error: boom".');
    expect(filterWords(filter, NOW, null)).toBe("Dead jobs with the same error (group 40e5f16b5ed8).");
  });
});
