import { CALL, DurableTale, partBy, signalBy, told, WAIT } from "../durable-tale.ts";
import type { Line } from "../line.ts";
import { storedJob } from "../tale.ts";
import type { BadHistory } from "./bad-history.ts";

const kept = told("one", "step", "done", "one of 1");

/** A job that was suspended, resumed once, and is completed now. */
function completed(work: DurableTale, ...steps: readonly ReturnType<typeof told>[]): readonly Line[] {
  return work.tale.complete("w", "a", 2).dump(["a", "completed", { fence: 2, steps }]);
}

/** The same, with the job that it called. */
function completedBoth(work: DurableTale, result: string, ...steps: readonly ReturnType<typeof told>[]): readonly Line[] {
  return work.tale.complete("w", "a", 2).dump(["a", "completed", { fence: 2, steps }], ["b", "completed", { result }]);
}

const NAP = { step: "nap", kind: "sleep", untilMs: 1_000 } as const;

/** Histories that are wrong about steps, signals, calls, and what jobs tell each other. */
export const durable: readonly BadHistory[] = [
  [
    "step",
    "a step runs again though its result was stored, and its reader does not know",
    (tale) =>
      completed(
        new DurableTale(tale, "a")
          .start()
          .step("one", 1)
          .suspend(1, [WAIT])
          .signal("ann")
          .resume(2)
          .read(2, signalBy("ann"))
          .step("one", 2),
        signalBy("ann"),
        told("one", "step", "done", "one of 2"),
      ),
  ],
  [
    "step",
    "a step runs again though its reader got the result of a call of which nobody was sure",
    (tale) =>
      completed(
        new DurableTale(tale, "a")
          .start()
          .step("one", 1, "unknown")
          .suspend(1, [NAP])
          .wait(1_000)
          .resume(2)
          .read(2, kept, told("nap", "sleep", "done"))
          .effect("one", 2),
        kept,
        told("nap", "sleep", "done"),
      ),
  ],
  [
    "step",
    "two attempts get two results of a step",
    (tale) => {
      const work = new DurableTale(tale, "a")
        .start()
        .step("one", 1, "unknown")
        .step("one", 1, "unknown", "another")
        .suspend(1, [WAIT])
        .signal("ann");
      work.resume(2).read(2, kept, signalBy("ann"));
      work.read(2, told("one", "step", "done", "another"), signalBy("ann"));
      return completed(work, told("one", "step", "done", "another"), signalBy("ann"));
    },
  ],
  [
    "step",
    "a result is stored of a step that never ran",
    (tale) => {
      const work = new DurableTale(tale, "a").start().keep("one", 1);
      return work.tale.complete("w", "a", 1).dump(["a", "completed", { steps: [kept] }]);
    },
  ],
  [
    "step",
    "a step has a result that nobody stored",
    (tale) =>
      completed(
        new DurableTale(tale, "a").start().suspend(1, [WAIT]).signal("ann").resume(2).read(2, kept, signalBy("ann")),
        kept,
        signalBy("ann"),
      ),
  ],
  [
    "step",
    "a handler goes on with another result than was stored",
    (tale) => {
      const work = new DurableTale(tale, "a").start().step("one", 1).suspend(1, [WAIT]).signal("ann");
      work
        .resume(2)
        .read(2, kept, signalBy("ann"))
        .wentOn(2, { ...kept, value: "another" });
      return completed(work, kept, signalBy("ann"));
    },
  ],
  [
    "I4",
    "a step is stored under the lease of another",
    (tale) => {
      const work = new DurableTale(tale, "a").start();
      tale.fail("w", "a", 1).wait(1_000);
      work.resume(2, { attempt: 2, retryCount: 1 }).effect("one", 1).keep("one", 1);
      return tale.complete("w", "a", 2).dump(["a", "completed", { attempt: 2, steps: [kept] }]);
    },
  ],
  [
    "I8",
    "a sleep ends before its time",
    (tale) =>
      completed(
        new DurableTale(tale, "a")
          .start()
          .suspend(1, [NAP])
          .resume(2)
          .read(2, told("nap", "sleep", "done")),
        told("nap", "sleep", "done"),
      ),
  ],
  [
    "signal",
    "two signals of one name are taken",
    (tale) =>
      completed(
        new DurableTale(tale, "a").start().suspend(1, [WAIT]).signal("ann").signal("bob").resume(2).read(2, signalBy("bob")),
        signalBy("bob"),
      ),
  ],
  [
    "signal",
    "a signal is taken, and the wait times out",
    (tale) => {
      const over = told("go", "wait", "timeout");
      const work = new DurableTale(tale, "a")
        .start()
        .suspend(1, [{ ...WAIT, untilMs: 500 }])
        .signal("ann");
      tale.wait(600);
      return completed(work.resume(2).read(2, over).wentOn(2, over), over);
    },
  ],
  [
    "signal",
    "a wait times out, and a later attempt sees a signal",
    (tale) => {
      const work = new DurableTale(tale, "a").start().suspend(1, [{ ...WAIT, untilMs: 500 }]);
      tale.wait(600);
      work
        .resume(2)
        .read(2, told("go", "wait", "timeout"))
        .signal("ann", "unknown")
        .read(2, signalBy("ann"));
      return completed(work, signalBy("ann"));
    },
  ],
  [
    "signal",
    "a signal is taken and forgotten",
    (tale) =>
      completed(
        new DurableTale(tale, "a")
          .start()
          .signal("ann")
          .suspend(1, [WAIT])
          .resume(2)
          .read(2, told("go", "wait", "open")),
        signalBy("ann"),
      ),
  ],
  [
    "signal",
    "a handler is given a signal that nobody sent",
    (tale) => completed(new DurableTale(tale, "a").start().suspend(1, [WAIT]).resume(2).read(2, signalBy("eve")), signalBy("eve")),
  ],
  [
    "call",
    "a step calls two jobs in one life",
    (tale) => {
      const work = new DurableTale(tale, "a")
        .start()
        .suspend(1, [CALL], { part: "b" })
        .child("b")
        .resume(2)
        .suspend(2, [CALL], { part: "c" })
        .child("c");
      work.end(partBy("c")).resume(3).read(3, partBy("c"));
      return tale
        .complete("w", "a", 3)
        .dump(
          ["a", "completed", { fence: 3, steps: [partBy("c")] }],
          ["b", "completed", { result: "result of b" }],
          ["c", "completed", { result: "result of c" }],
        );
    },
  ],
  [
    "call",
    "a job that begins again calls the job of its earlier life",
    (tale) => {
      const work = new DurableTale(tale, "a").start().suspend(1, [CALL], { part: "b" }).child("b");
      tale.change("cancel", "a", "blocked");
      work.restart("cancelled").resume(3).suspend(3, [CALL], { part: "b" }).end(partBy("b")).resume(4).read(4, partBy("b"));
      return tale
        .complete("w", "a", 4)
        .dump(["a", "completed", { fence: 4, steps: [partBy("b")] }], ["b", "completed", { result: "result of b" }]);
    },
  ],
  [
    "call",
    "a job goes on before the one that it called has ended",
    (tale) => {
      const work = new DurableTale(tale, "a").start().suspend(1, [CALL], { part: "b" }).end(partBy("b")).resume(2).read(2, partBy("b"));
      return completedBoth(work.child("b"), "result of b", partBy("b"));
    },
  ],
  [
    "call",
    "a job is given another result than the one that it called had",
    (tale) => {
      const work = new DurableTale(tale, "a").start().suspend(1, [CALL], { part: "b" }).child("b", "another").end(partBy("b"));
      return completedBoth(work.resume(2).read(2, partBy("b")), "another", partBy("b"));
    },
  ],
  [
    "call",
    "a job that was retried with the one that it called finds the old failure",
    (tale) => {
      const failed = { ...told("part", "call", "failed", "boom"), by: "b 1" };
      const work = new DurableTale(tale, "a").start().suspend(1, [CALL], { part: "b" });
      tale.claim("v", ["b", 1]).die("v", "b", 1);
      work.end(failed).resume(2).read(2, failed);
      tale.die("w", "a", 2);
      tale
        .call("retry", { job: "b", forgets: "failed" }, "ok", { was: "dead" })
        .call("retry", { job: "a", forgets: "failed" }, "ok", { was: "dead" });
      work.resume(3, { attempt: 2 }).read(3, failed);
      tale
        .die("w", "a", 3)
        .claim("v", ["b", 2, { retryCount: 0, runAt: tale.engine }])
        .complete("v", "b", 2);
      return tale.dump(["a", "dead", { attempt: 2, fence: 3, steps: [failed] }], ["b", "completed", { attempt: 2 }]);
    },
  ],
  [
    "children",
    "a job is cancelled, and the one that it called goes on",
    (tale) => {
      const work = new DurableTale(tale, "a").start().suspend(1, [CALL], { part: "b" });
      tale.change("cancel", "a", "blocked").wait(20_000);
      work.child("b");
      return tale.dump(
        ["a", "cancelled", { attempt: 0, fence: 2, attempts: [], steps: [told("part", "call", "open")] }],
        ["b", "completed", { result: "result of b" }],
      );
    },
  ],
  [
    "notice",
    "a notice is left when all has come to its end",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).complete("w", "a", 1).see("calm", { boundMs: 0 });
      tale
        .see("stored-job", storedJob("a", "completed", tale.engine))
        .see("dumped", { engine: tale.engine, expired: [], notices: ["the end of b, for a"] });
      return tale.lines;
    },
  ],
  [
    "I20",
    "a job waits for a call that has ended, long after the last fault",
    (tale) => {
      const work = new DurableTale(tale, "a").start().suspend(1, [CALL], { part: "b" });
      work.child("b");
      tale.see("calm", { boundMs: 1_000 }).wait(5_000);
      return tale.dump(
        ["a", "blocked", { attempt: 0, fence: 1, attempts: [], steps: [told("part", "call", "open")] }],
        ["b", "completed", { result: "result of b" }],
      );
    },
  ],
];
