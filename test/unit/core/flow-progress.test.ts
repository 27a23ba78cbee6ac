import { expect, test } from "vitest";
import { EMPTY_FLOW, type FlowHead, type Member, type MemberPlan, type OnFailure } from "../../../src/core/flow.ts";
import { FlowProgress, type Told } from "../../../src/core/flow-progress.ts";
import { createJob, JOB_DEFAULTS } from "../../../src/core/job-options.ts";
import type { Status } from "../../../src/core/job.ts";

/** A flow that is changed call by call, as upkeep does it. */
class Flow {
  head: FlowHead = EMPTY_FLOW;
  readonly members = new Map<string, Member>();

  change(apply: (progress: FlowProgress) => void): readonly string[] {
    const progress = new FlowProgress("flow", this.head, this.members.values(), 0);
    apply(progress);
    const { head, states, added, notices } = progress.outcome();
    this.head = head;
    for (const member of added) this.members.set(member.name, member);
    for (const { name, state } of states) this.members.set(name, { ...this.members.get(name)!, state });
    return notices.flatMap((notice) => (notice.kind === "flow" ? `${notice.work} ${notice.names.join()}`.trim() : []));
  }

  told(name: string, at: number, end: Status | null): readonly string[] {
    const told: Told = { name, jobId: name, at, end, value: null };
    return this.change((progress) => progress.told(told));
  }
}

function planOf(name: string, after: readonly string[], onFailure: OnFailure = "cancel"): MemberPlan {
  return { job: createJob(name, "task", null, { ...JOB_DEFAULTS }), after, onFailure };
}

function startedFlow(...members: readonly (readonly [name: string, after: readonly string[]])[]): Flow {
  const flow = new Flow();
  flow.change((progress) => progress.add(members.map(([name, after]) => ({ name, plan: planOf(name, after) }))));
  flow.change((progress) => progress.started(members.map(([name]) => name)));
  return flow;
}

test("a flow runs while a member is still to be revived, whatever ends before that", () => {
  const flow = startedFlow(["a", []], ["b", ["a"]]);
  expect(flow.told("a", 2, "dead")).toEqual(["act b"]);
  expect(flow.told("b", 2, "cancelled")).toEqual(["end"]);
  expect(flow.head.status).toBe("failed");
  // Somebody retries a, and it completes before the job of b has been revived.
  expect(flow.told("a", 3, null)).toEqual(["act b,a", "end"]);
  expect(flow.told("a", 4, "completed")).toEqual([]);
  expect(flow.head.status).toBe("running");
  expect(flow.told("b", 3, null)).toEqual(["act b"]);
  expect(flow.told("b", 4, "completed")).toEqual(["end"]);
  expect(flow.head).toMatchObject({ status: "completed", reviving: 0, ended: { completed: 2, cancelled: 0 } });
});

test("what was to be revived is not, once what it waits for has ended badly again", () => {
  const flow = startedFlow(["a", []], ["b", ["a"]]);
  flow.told("a", 2, "dead");
  flow.told("b", 2, "cancelled");
  flow.told("a", 3, null);
  expect(flow.told("a", 4, "dead")).toEqual(["end"]);
  expect(flow.head).toMatchObject({ status: "failed", reviving: 0 });
});

test("a member whose job is made anew is revived by that", () => {
  const flow = startedFlow(["a", []], ["b", ["a"]]);
  flow.told("a", 2, "dead");
  flow.told("b", 2, "cancelled");
  flow.told("a", 3, null);
  flow.told("a", 4, "completed");
  expect(flow.change((progress) => progress.remade("b", 1))).toEqual(["act b"]);
  expect(flow.head).toMatchObject({ status: "running", reviving: 0 });
});
