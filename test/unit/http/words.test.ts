/** What refusals say: what is wrong, with what, and what would be right. */
import { describe, expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import type { RouteName } from "../../../src/http/contract.ts";
import { toProblem } from "../../../src/http/problem.ts";
import { type Asked, openApi } from "./open-api.ts";

const A_TIME = "ISO 8601 text with a time zone, or milliseconds since the epoch, from the year 2000";

describe("a refusal says what would be right", () => {
  test.each<[RouteName, Asked, string, string]>([
    ["POST /jobs", { json: {} }, "payload", "payload is required"],
    ["POST /api/v1/jobs", { json: { payload: 1 } }, "type", "type is required: it must be 1 to 128 characters"],
    ["POST /api/v1/jobs", { json: { type: "t", run_at: "soon" } }, "run_at", `run_at must be ${A_TIME} to 10 years ahead; got "soon"`],
    [
      "POST /api/v1/jobs",
      { json: { type: "t", scheduled_at: "soon" } },
      "scheduled_at",
      `scheduled_at must be ${A_TIME} to 10 years ahead`,
    ],
    ["POST /api/v1/jobs", { json: { type: "t", scheduled_at: "2999-01-01T00:00:00Z" } }, "scheduled_at", `scheduled_at must be ${A_TIME}`],
    [
      "POST /api/v1/jobs",
      { json: { type: "t", scheduled_at: "2030-01-01T00:00:00Z", delay: "5m" } },
      "scheduled_at",
      "scheduled_at and delay cannot be combined: give only one of them",
    ],
    [
      "POST /api/v1/jobs",
      { json: { type: "t", run_at: "2030-01-01T00:00:00Z", delay: "5m" } },
      "run_at",
      "run_at and delay cannot be combined: give only one of them",
    ],
    ["GET /api/v1/jobs", { query: "from=yesterday" }, "from", `from must be ${A_TIME} on`],
    ["GET /api/v1/stats/history", { query: "from=yesterday" }, "from", "from must be ISO 8601"],
    [
      "GET /api/v1/jobs/{id}/logs",
      { params: { id: "01a1e14d-a2f2-7000-9929-a9e9045dd691" }, query: "after=-1" },
      "after",
      "after must be a whole number of at least 0",
    ],
  ])("%s %j: %s", async (name, asked, field, words) => {
    const { refuse } = await openApi();
    const { detail, ...problem } = await refuse(name, asked, "invalid_input");
    expect(problem).toMatchObject({ field });
    expect(detail).toContain(words);
    expect(detail).not.toMatch(/the reference says|a Date/);
  });

  test("each status and each alias is named once", async () => {
    const { refuse } = await openApi();
    const { detail } = await refuse("GET /api/v1/jobs", { query: "status=lost" }, "invalid_input");
    const names = detail.replace(/;.*/, "").match(/[a-z_]{4,}/g)!;
    expect(names.filter((name) => name === "failed")).toHaveLength(1);
    expect(names).toContain("dead_lettered");
  });

  test("a store that is away is told as that, and names neither hosts nor statements", () => {
    const error = new MillraceError("store_unavailable", "PostgreSQL at db.internal:5432 did not answer");
    expect(toProblem(error, "r-1").body.detail).toBe("the store did not answer in time, or refused: the server's log says why");
  });
});
