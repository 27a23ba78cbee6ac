import type { Context, Handler } from "../../src/client/client.ts";
import { Discard, HoldKey, RetryAfter, Snooze } from "../../src/core/control-errors.ts";
import type { Job } from "../../src/core/job.ts";
import { type Clock, sleep } from "../../src/lib/clock.ts";
import type { Seen } from "../history/line.ts";
import { printOfJob } from "../history/print.ts";
import type { Recorder } from "../history/recorder.ts";
import { type DurableWork, runDurable } from "./durable.ts";
import type { MemberScript } from "./flow-plan.ts";
import { actAsMember } from "./member.ts";

/**
 * What one attempt of a job does: it works so long, and then ends so. `stubborn` does not look at its signal, `spawn` makes another job. `block`
 * lets nothing else happen in its process meanwhile; `transact` does so too, inside a transaction of its own that completes the job.
 */
export type Step =
  | readonly ["ok" | "throw" | "discard" | "stubborn" | "notes" | "spawn" | "block" | "transact", ms: number]
  | readonly ["snooze" | "retry-after" | "hold", ms: number, delayMs: number];

/** The payload of a simulated job. */
export interface Script {
  /** Makes every payload another one. */
  readonly tag?: string;
  /** What its attempts do, in turn; the last step is for all that follow. */
  readonly steps: readonly Step[];
  /** Durable work that comes before that, in every attempt. */
  readonly durable?: DurableWork;
  /** It is a member of a flow. */
  readonly member?: MemberScript;
}

const LONGEST_LEAD_MS = 40;

/** What a handler cannot do by itself. */
export interface Hands {
  readonly spawn?: (parent: Job) => Promise<void>;
  /** Completes the job in a transaction of its own that stays open for so long; `done` is called before the commit. */
  readonly transact?: (ctx: Context<Script>, ms: number, done: () => void) => Promise<void>;
  /** Told what a handler should never see. */
  readonly broken?: (error: Error) => void;
}

/** The handler of every type: does as the payload says, and writes down what it sees. */
export function scriptedHandler(recorder: Recorder, clock: Clock, { spawn, transact, broken }: Hands = {}): Handler<Script> {
  return async (script, ctx) => {
    const { id: job, fence, type, workerId } = ctx.job;
    const who = { worker: workerId!, job, fence };
    recorder.see("start", { ...who, print: printOfJob(type, JSON.stringify(script)) });
    ctx.signal.addEventListener("abort", () => recorder.see("abort", who));
    const end = (how: Seen["end"]["how"], delayMs?: number): void =>
      recorder.see("end", { ...who, how, ...(delayMs === undefined ? {} : { delayMs }) });
    // Each claim raises the fence, so the steps go on also after a release or a snooze.
    const step = script.steps[Math.min(fence, script.steps.length) - 1]!;
    let isDone = false;
    const done = (): void => {
      isDone = true;
      end("ok");
    };
    try {
      if (script.member !== undefined) await actAsMember(ctx, script.member, broken);
      if (script.durable !== undefined) await runDurable({ ctx, recorder, clock }, script.durable);
      if (step[0] === "transact") await transact?.(ctx, step[1], done);
      else await work(step, clock, ctx);
      if (step[0] === "spawn") await spawn?.(ctx.job);
    } catch (error) {
      // Whatever became of the commit, the work is done.
      if (isDone) return { took: step[1] };
      end("error");
      throw error;
    }
    if (isDone) return { took: step[1] };
    return finish(step, end);
  };
}

async function work([kind, ms]: Step, clock: Clock, ctx: Context<Script>): Promise<void> {
  if (kind === "notes") {
    ctx.log("begins");
    ctx.progress(50, "half way");
  }
  // Not at once: others that began with it are to end, and their reports to be under way.
  if (kind === "block") return sleep(clock, ms % LONGEST_LEAD_MS).then(() => block(ms));
  await sleep(clock, ms, kind === "stubborn" ? undefined : ctx.signal);
  if (kind !== "stubborn") ctx.signal.throwIfAborted();
  if (kind === "notes") ctx.log("ends");
}

/** Nothing else happens in this process for so long. It takes no time from others. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function finish([kind, ms, delayMs = 0]: Step, end: (how: Seen["end"]["how"], delayMs?: number) => void): unknown {
  switch (kind) {
    case "ok":
    case "spawn":
    case "notes":
    case "stubborn":
    case "block":
    case "transact":
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
    case "hold":
      end("hold", delayMs);
      throw new HoldKey(delayMs);
    case "retry-after":
      end("retry-after", delayMs);
      throw new RetryAfter(delayMs);
  }
}
