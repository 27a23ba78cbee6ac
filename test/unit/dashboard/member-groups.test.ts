import { expect, test } from "vitest";
import type { Status } from "../../../src/core/job.ts";
import { groupsOf } from "../../../src/dashboard/flows/member-groups.ts";

const member = (name: string, status: Status = "completed"): { name: string; status: Status } => ({ name, status });

test("members whose names differ only in numbers and ids are a group, with counts by status", () => {
  const groups = groupsOf([
    member("fetch"),
    member("chunk-1", "dead"),
    member("chunk-2"),
    member("chunk-10"),
    member("of 01a1ed07-0000-7000-8000-000000000000"),
    member("of 01a1ed07-0000-7000-8000-00000000000a", "running"),
    member("page 3"),
  ]);
  expect(groups.map(({ name, members, counts }) => [name, members.length, counts])).toEqual([
    ["fetch", 1, [["completed", 1]]],
    ["chunk-*", 3, [["completed", 2], ["dead", 1]]],
    ["of *", 2, [["running", 1], ["completed", 1]]],
    ["page 3", 1, [["completed", 1]]],
  ]); // oxfmt-ignore
});
