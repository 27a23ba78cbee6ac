import { CALL, DurableTale, partBy, signalBy, told, WAIT } from "../durable-tale.ts";
import { afterLoss, type GoodHistory } from "./good-history.ts";

/** Durable work that looks wrong and is not. */
export const durable: readonly GoodHistory[] = [
  [
    "a job keeps a step, sleeps, waits for a signal and calls another, and goes on after each",
    (tale) => {
      const work = new DurableTale(tale, "a")
        .start()
        .step("one", 1)
        .suspend(1, [{ step: "nap", kind: "sleep", untilMs: 1_000 }]);
      const kept = told("one", "step", "done", "one of 1");
      tale.wait(1_000);
      const slept = told("nap", "sleep", "done");
      work.resume(2).read(2, kept, slept).wentOn(2, kept).wentOn(2, slept).suspend(2, [WAIT]).signal("ann");
      const signalled = signalBy("ann");
      work.resume(3).read(3, kept, slept, signalled).wentOn(3, signalled).suspend(3, [CALL], { part: "b" }).child("b").end(partBy("b"));
      const all = [kept, slept, signalled, partBy("b")];
      work
        .resume(4)
        .read(4, ...all)
        .wentOn(4, partBy("b"));
      return tale.complete("w", "a", 4).dump(["a", "completed", { fence: 4, steps: all }], ["b", "completed", { result: "result of b" }]);
    },
  ],
  [
    "a step runs again whose result may have been stored, and was not",
    (tale) => {
      const work = new DurableTale(tale, "a").start().step("one", 1, "unknown");
      tale.fail("w", "a", 1).wait(1_000);
      work.resume(2, { attempt: 2, retryCount: 1 }).read(2).step("one", 2);
      return tale.complete("w", "a", 2).dump(["a", "completed", { attempt: 2, steps: [told("one", "step", "done", "one of 2")] }]);
    },
  ],
  [
    "a result that may have been stored is there, and its step does not run again",
    (tale) => {
      const work = new DurableTale(tale, "a").start().step("one", 1, "unknown");
      const kept = told("one", "step", "done", "one of 1");
      tale.fail("w", "a", 1).wait(1_000);
      work.resume(2, { attempt: 2, retryCount: 1 }).read(2, kept).wentOn(2, kept);
      tale.see("end", { worker: "w", job: "a", fence: 2, how: "ok" }, "w").settle("w", "a", 2);
      return tale.dump(["a", "completed", { attempt: 2, steps: [kept] }]);
    },
  ],
  [
    "a handler that has lost its lease runs a step that another has stored since",
    (tale) => {
      const work = new DurableTale(tale, "a").start();
      tale.wait(11_000).lose("a", 1).wait(2_000);
      work.resume(3, afterLoss(tale)).step("one", 3).effect("one", 1);
      const attempts = [
        { number: 1, endedAt: null, outcome: "failed", kind: "lost" },
        { number: 2, endedAt: null, outcome: "completed", kind: null },
      ] as const;
      return tale
        .complete("w", "a", 3)
        .dump(["a", "completed", { attempt: 2, fence: 3, attempts, steps: [told("one", "step", "done", "one of 3")] }]);
    },
  ],
  [
    "of two that find a lease lost, one does not know of a step that was stored, would end the job for it, and is refused",
    (tale) => {
      tale.insert("a", { maxLost: 1 });
      const work = new DurableTale(tale).start();
      tale.wait(11_000).lose("a", 1).wait(1_000);
      work.resume(3, { ...afterLoss(tale), runAt: tale.engine }).step("one", 3);
      tale.wait(11_000).lose("a", 3, { to: "dead", delayMs: null }, "unknown").lose("a", 3).wait(1_000);
      const attempts = [1, 2, 3].map((number) => {
        return {
          number,
          endedAt: null,
          ...(number < 3 ? ({ outcome: "failed", kind: "lost" } as const) : ({ outcome: "completed", kind: null } as const)),
        };
      });
      const kept = told("one", "step", "done", "one of 3");
      work.resume(5, { ...afterLoss(tale), attempt: 3, runAt: tale.engine }).read(5, kept);
      return tale.complete("w", "a", 5).dump(["a", "completed", { attempt: 3, fence: 5, attempts, maxLost: 1, steps: [kept] }]);
    },
  ],
  [
    "a job that begins again runs its steps again, and takes another signal",
    (tale) => {
      const work = new DurableTale(tale, "a").start().step("one", 1).signal("ann");
      tale.die("w", "a", 1);
      work.restart().resume(2, { attempt: 2 }).read(2).step("one", 2).signal("bob").suspend(2, [WAIT]);
      const all = [told("one", "step", "done", "one of 2"), signalBy("bob")];
      work
        .resume(3, { attempt: 2 })
        .read(3, ...all)
        .wentOn(3, signalBy("bob"));
      return tale.complete("w", "a", 3).dump(["a", "completed", { attempt: 2, fence: 3, steps: all }]);
    },
  ],
  [
    "of two signals one is told that it is late, and a repeat of the first that it is not",
    (tale) => {
      const work = new DurableTale(tale, "a").start().signal("ann").signal("bob", "fail", { kind: "late", state: "done" }).signal("ann");
      work.suspend(1, [WAIT]).resume(2).read(2, signalBy("ann")).wentOn(2, signalBy("ann"));
      return tale.complete("w", "a", 2).dump(["a", "completed", { fence: 2, steps: [signalBy("ann")] }]);
    },
  ],
  [
    "a signal of which nobody is sure comes too late, and the timeout wins",
    (tale) => {
      const over = told("go", "wait", "timeout");
      const work = new DurableTale(tale, "a").start().suspend(1, [{ ...WAIT, untilMs: 500 }]);
      tale.wait(600);
      work.signal("ann", "unknown").resume(2).read(2, over).wentOn(2, over).signal("ann", "fail", { kind: "late", state: "timeout" });
      return tale.complete("w", "a", 2).dump(["a", "completed", { fence: 2, steps: [over] }]);
    },
  ],
  [
    "a call that failed is forgotten by a retry, and the called job completes",
    (tale) => {
      const failed = { ...told("part", "call", "failed", "boom"), by: "b 1" };
      const work = new DurableTale(tale, "a").start().suspend(1, [CALL], { part: "b" });
      tale.claim("v", ["b", 1]).die("v", "b", 1);
      work.end(failed).resume(2).read(2, failed).wentOn(2, failed);
      tale.die("w", "a", 2);
      tale
        .call("retry", { job: "b", forgets: "failed" }, "ok", { was: "dead" })
        .call("retry", { job: "a", forgets: "failed" }, "ok", { was: "dead" });
      tale.claim("v", ["b", 2, { retryCount: 0, runAt: tale.engine }]).see("end", { worker: "v", job: "b", fence: 2, how: "ok" }, "v");
      tale.settle("v", "b", 2, { result: "result of b" });
      work.end(partBy("b", 2)).resume(3, { attempt: 2 }).read(3, partBy("b", 2)).wentOn(3, partBy("b", 2));
      return tale
        .complete("w", "a", 3)
        .dump(
          ["a", "completed", { attempt: 2, fence: 3, steps: [partBy("b", 2)] }],
          ["b", "completed", { attempt: 2, result: "result of b" }],
        );
    },
  ],
  [
    "a job waits for a signal that nobody sent, long after the last fault",
    (tale) => {
      new DurableTale(tale, "a").start().suspend(1, [WAIT]);
      tale.see("calm", { boundMs: 1_000 }).wait(5_000);
      return tale.dump(["a", "blocked", { attempt: 0, fence: 1, attempts: [], steps: [told("go", "wait", "open")] }]);
    },
  ],
  [
    "a called job that has ended is not cancelled with its caller",
    (tale) => {
      new DurableTale(tale, "a").start().suspend(1, [CALL], { part: "b" }).child("b");
      tale.change("cancel", "a", "blocked").wait(20_000);
      return tale.dump(
        ["a", "cancelled", { attempt: 0, fence: 2, attempts: [], steps: [told("part", "call", "open")] }],
        ["b", "completed", { result: "result of b" }],
      );
    },
  ],
];
