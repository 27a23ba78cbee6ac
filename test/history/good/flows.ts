import { FlowTale, member } from "../flow-tale.ts";
import type { GoodHistory } from "./good-history.ts";

/** Flows that look wrong and are not. */
export const flows: readonly GoodHistory[] = [
  [
    "members run after each other, and their flow completes",
    (tale) => {
      const flow = new FlowTale(tale, member("a"), member("b", "a"), { ...member("c"), after: "*" }).runs("a").runs("b").runs("c");
      return flow.dump({ status: "completed" }, { a: "completed", b: "completed", c: "completed" });
    },
  ],
  [
    "what waits for a dead member is cancelled, and what runs in any case runs",
    (tale) => {
      const flow = new FlowTale(tale, member("a"), member("b", "a"), { ...member("c", "a"), onFailure: "run" })
        .dies("a")
        .cut("b")
        .runs("c");
      return flow.dump({ status: "failed" }, { a: "dead", b: "cancelled", c: "completed" }, { isCut: ["b"] });
    },
  ],
  [
    "a member waits until somebody retries what it waits for, and its flow says so",
    (tale) => {
      const flow = new FlowTale(tale, member("a"), { ...member("b", "a"), onFailure: "wait" }, member("c", "b")).dies("a");
      return flow.dump({ status: "running", stuck: { count: 1, names: ["b"] } }, { a: "dead", b: null, c: null });
    },
  ],
  [
    "the job of a member that completed is gone",
    (tale) => {
      const flow = new FlowTale(tale, member("a"), member("b", "a")).runs("a").runs("b");
      tale.remove("a", "completed");
      return flow.dump({ status: "completed" }, { a: "completed", b: "completed" }, { jobs: { a: undefined } });
    },
  ],
  [
    "a flow of which its producer is not sure was not stored, nor any of its members",
    (tale) =>
      tale
        .insert("f", { queue: "~flows", flow: [member("a")] }, "unknown")
        .see("calm", { boundMs: 0 })
        .dump(),
  ],
];
