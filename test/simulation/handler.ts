import type { Context, Handler } from "../../src/client/client.ts";
import { Discard, RetryAfter, Snooze } from "../../src/core/control-errors.ts";
import type { Job } from "../../src/core/job.ts";
import { type Clock, sleep } from "../../src/lib/clock.ts";
import type { Seen } from "../history/line.ts";
import { printOfJob } from "../history/print.ts";
import type { Recorder } from "../history/recorder.ts";

/** What one attempt of a job does: it works so long, and then ends so. `stubborn` does not look at its signal, `spawn` makes another job. */
export type Step =
  | readonly ["ok" | "throw" | "discard" | "stubborn" | "notes" | "spawn", ms: number]
  | readonly ["snooze" | "retry-after", ms: number, delayMs: number];

/** The payload of a simulated job. */
export interface Script {
  /** Makes every payload another one. */
  readonly tag?: string;
  /** What its attempts do, in turn; the last step is for all that follow. */
  readonly steps: readonly Step[];
}

/** The handler of every type: does as the payload says, and writes down what it sees. */
export function scriptedHandler(recorder: Recorder, clock: Clock, spawn: (parent: Job) => Promise<void> = async () => {}): Handler<Script> {
  return async (script, ctx) => {
    const { id: job, fence, type, workerId } = ctx.job;
    const who = { worker: workerId!, job, fence };
    recorder.see("start", { ...who, print: printOfJob(type, JSON.stringify(script)) });
    ctx.signal.addEventListener("abort", () => recorder.see("abort", who));
    const end = (how: Seen["end"]["how"], delayMs?: number): void =>
      recorder.see("end", { ...who, how, ...(delayMs === undefined ? {} : { delayMs }) });
    // Each claim raises the fence, so the steps go on also after a release or a snooze.
    const step = script.steps[Math.min(fence, script.steps.length) - 1]!;
    try {
      await work(step, clock, ctx);
      if (step[0] === "spawn") await spawn(ctx.job);
    } catch (error) {
      end("error");
      throw error;
    }
    return finish(step, end);
  };
}

async function work([kind, ms]: Step, clock: Clock, ctx: Context<Script>): Promise<void> {
  if (kind === "notes") {
    ctx.log("begins");
    ctx.progress(50, "half way");
  }
  await sleep(clock, ms, kind === "stubborn" ? undefined : ctx.signal);
  if (kind !== "stubborn") ctx.signal.throwIfAborted();
  if (kind === "notes") ctx.log("ends");
}

function finish([kind, ms, delayMs = 0]: Step, end: (how: Seen["end"]["how"], delayMs?: number) => void): unknown {
  switch (kind) {
    case "ok":
    case "spawn":
    case "notes":
    case "stubborn":
      end("ok");
      return { took: ms };
    case "throw":
      end("error");
      throw new Error(`failed after ${ms} ms`);
    case "discard":
      end("discard");
      throw new Discard(`not worth it after ${ms} ms`);
    case "snooze":
      end("snooze", delayMs);
      throw new Snooze(delayMs);
    case "retry-after":
      end("retry-after", delayMs);
      throw new RetryAfter(delayMs);
  }
}
