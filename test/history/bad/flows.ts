import { FlowTale, member } from "../flow-tale.ts";
import type { BadHistory } from "./bad-history.ts";

export const flows: readonly BadHistory[] = [
  [
    "members",
    "a member runs before the one that it waits for has ended",
    (tale) =>
      new FlowTale(tale, member("a"), member("b", "a"))
        .runs("b")
        .runs("a")
        .dump({ status: "completed" }, { a: "completed", b: "completed" }),
  ],
  [
    "members",
    "a member runs although the one that it waits for died",
    (tale) =>
      new FlowTale(tale, member("a"), member("b", "a")).dies("a").runs("b").dump({ status: "failed" }, { a: "dead", b: "completed" }),
  ],
  [
    "members",
    "the callback runs before all others have ended",
    (tale) => {
      const flow = new FlowTale(tale, member("a"), member("b"), { ...member("c"), after: "*" }).runs("a").runs("c").runs("b");
      return flow.dump({ status: "completed" }, { a: "completed", b: "completed", c: "completed" });
    },
  ],
  [
    "members",
    "a member that completed runs again, because somebody retried it",
    (tale) => {
      new FlowTale(tale, member("a")).runs("a");
      tale.call("retry", { job: "a", forgets: "failed" }, "ok", { was: "completed" });
      tale.claim("w", ["a", 2, { retryCount: 0, runAt: tale.engine }]).complete("w", "a", 2);
      const flow = { queue: "~flows", type: "millrace:flow", attempt: 0, fence: 0, attempts: [] } as const;
      const attempts = [1, 2].map((number) => ({ number, endedAt: null, outcome: "completed" as const, kind: null }));
      return tale.dump(["f", "completed", flow], ["a", "completed", { attempt: 2, attempts }]);
    },
  ],
  [
    "flow",
    "a member is there, and its flow is not",
    (tale) => {
      tale.insert("f", { queue: "~flows", flow: [member("a")] }, "unknown");
      tale.insert("a", { parent: { job: "f", step: "a", isFlow: true } });
      return tale.see("calm", { boundMs: 0 }).claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"]);
    },
  ],
  [
    "flow",
    "a member is there of a flow that nobody sent",
    (tale) =>
      tale
        .insert("a", { parent: { job: "f", step: "a", isFlow: true } })
        .claim("w", ["a", 1])
        .complete("w", "a", 1)
        .dump(["a", "completed"]),
  ],
  [
    "flow",
    "a flow is stored without one of its members",
    (tale) =>
      new FlowTale(tale, member("a"), member("b", "a"))
        .runs("a")
        .runs("b")
        .dump({ status: "completed" }, { a: "completed" }, { jobs: { b: "completed" } }),
  ],
  [
    "flow",
    "a flow takes a member that completed for one that has not ended",
    (tale) => {
      const flow = new FlowTale(tale, member("a"), member("b")).runs("a").runs("b");
      return flow.dump({ status: "running" }, { a: "completed", b: null }, { jobs: { b: "completed" } });
    },
  ],
  [
    "flow",
    "a member stays blocked, and nothing is in its way",
    (tale) => new FlowTale(tale, member("a"), member("b", "a")).runs("a").dump({ status: "running" }, { a: "completed", b: null }),
  ],
  [
    "flow",
    "a member stays blocked, though what it waits for died",
    (tale) => new FlowTale(tale, member("a"), member("b", "a")).dies("a").dump({ status: "running" }, { a: "dead", b: null }),
  ],
  [
    "flow",
    "a member stays cancelled, though what it waits for completed in the end",
    (tale) => {
      const flow = new FlowTale(tale, member("a"), member("b", "a")).cut("b").runs("a");
      return flow.dump({ status: "failed" }, { a: "completed", b: "cancelled" }, { isCut: ["b"] });
    },
  ],
  [
    "flow",
    "a flow counts an end that there was not",
    (tale) => new FlowTale(tale, member("a")).runs("a").dump({ status: "completed", ended: { completed: 2 } }, { a: "completed" }),
  ],
  [
    "flow",
    "a flow does not say who waits for somebody",
    (tale) => {
      const flow = new FlowTale(tale, member("a"), { ...member("b", "a"), onFailure: "wait" }).dies("a");
      return flow.dump({ status: "running" }, { a: "dead", b: null });
    },
  ],
  [
    "flow",
    "the job of a flow that has ended is blocked",
    (tale) => new FlowTale(tale, member("a")).runs("a").dump({ status: "completed" }, { a: "completed" }, { job: "blocked" }),
  ],
];
