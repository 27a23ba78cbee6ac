import { FLOW_QUEUE, FLOW_TYPE } from "../../src/core/flow.ts";
import type { Status } from "../../src/core/job.ts";
import type { Line, SentJob, SentMember, StoredFlow, StoredMember } from "./line.ts";
import type { Tale } from "./tale.ts";

/** WHAT IS TOLD OF A FLOW `f`, beside what a Tale tells: the job of a member has the name of the member. */
export class FlowTale {
  readonly tale: Tale;
  readonly #members: readonly SentMember[];

  /** Creates the flow, and stores the jobs of its members. */
  constructor(tale: Tale, ...members: readonly SentMember[]) {
    this.tale = tale.insert("f", { queue: FLOW_QUEUE, type: FLOW_TYPE, flow: members }, "ok", { status: "blocked" });
    this.#members = members;
    for (const one of members) this.insert(one);
  }

  insert({ name, job, after }: SentMember): this {
    const isFirst = after.length === 0;
    const wishes: Partial<SentJob> = { parent: { job: "f", step: name, isFlow: true }, ...(isFirst ? {} : { isBlocked: true }) };
    this.tale.insert(job, wishes, "ok", isFirst ? {} : { status: "blocked" });
    return this;
  }

  /** A member opens, runs, and completes. */
  runs(name: string, fence = 1): this {
    return this.opens(name, fence).completes(name, fence);
  }

  opens(name: string, fence = 1): this {
    const isFirst = this.#members.find((one) => one.name === name)?.after.length === 0;
    if (!isFirst) this.tale.call("open", { job: name }, "ok", { was: "blocked" }, "upkeep");
    this.tale.claim("w", [name, fence, isFirst ? {} : { runAt: this.tale.engine }]);
    return this;
  }

  completes(name: string, fence = 1): this {
    this.tale.complete("w", name, fence);
    return this;
  }

  dies(name: string, fence = 1): this {
    this.tale.claim("w", [name, fence]).die("w", name, fence);
    return this;
  }

  cut(name: string): this {
    this.tale.call("cancel", { job: name }, "ok", { was: "blocked" }, "upkeep");
    return this;
  }

  /** What is there in the end: how each member ended, or null. */
  dump(
    head: Partial<StoredFlow["head"]> & Pick<StoredFlow["head"], "status">,
    ends: Readonly<Record<string, Status | null>>,
    wishes: {
      readonly job?: Status;
      readonly jobs?: Readonly<Record<string, Status | undefined>>;
      readonly isCut?: readonly string[];
    } = {},
  ): readonly Line[] {
    const { tale } = this;
    tale.see("calm", { boundMs: 0 });
    const members = this.#members
      .filter(({ name }) => name in ends)
      .map((one): StoredMember => {
        return { ...one, phase: "opened", end: ends[one.name]!, isCut: wishes.isCut?.includes(one.name) ?? false };
      });
    const ended: Partial<Record<Status, number>> = {};
    for (const { end } of members) if (end !== null) ended[end] = (ended[end] ?? 0) + 1;
    const usual = { total: members.length, ended, fresh: 0, stuck: { count: 0, names: [] }, isCancelled: false };
    tale.see("stored-flow", { job: "f", head: { ...usual, ...head }, members });
    const status = wishes.job ?? (head.status === "running" ? "blocked" : head.status);
    const type = { queue: FLOW_QUEUE, type: FLOW_TYPE, attempt: 0, fence: 0, attempts: [] } as const;
    const jobs = this.#members.map(({ name }) => {
      return [name, wishes.jobs !== undefined && name in wishes.jobs ? wishes.jobs[name] : (ends[name] ?? "blocked")] as const;
    });
    return tale.dump(
      ["f", status, type],
      ...jobs.flatMap(([name, one]) => {
        if (one === undefined) return [];
        const untouched = one === "blocked" || one === "cancelled" ? { attempt: 0, fence: 0, attempts: [], error: null } : {};
        return [[name, one, untouched] as const];
      }),
    );
  }
}

/** A member that waits for these. */
export function member(name: string, ...after: readonly string[]): SentMember {
  return { name, job: name, after, onFailure: "cancel" };
}
