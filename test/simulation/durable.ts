/** DURABLE WORK OF A SIMULATED JOB: the parts of a handler that keeps steps, sleeps, waits for signals and calls other jobs. */
import type { Context } from "../../src/client/client.ts";
import type { JobOptions } from "../../src/core/job-options.ts";
import { CallFailed } from "../../src/core/steps.ts";
import { type Clock, sleep } from "../../src/lib/clock.ts";
import { printOfText } from "../history/recording-store.ts";
import type { Recorder } from "../history/recorder.ts";
import type { Script } from "./handler.ts";

/** A job that durable work calls. */
export interface PlannedCall {
  readonly step: string;
  readonly type: string;
  readonly payload: Script;
  readonly options: JobOptions;
}

/** One part of durable work. A step works so long, and throws under fences up to `failsUpTo`. A wait without a time waits for ever. */
export type Part =
  | { readonly do: "step"; readonly name: string; readonly ms: number; readonly failsUpTo?: number }
  | { readonly do: "sleep"; readonly name: string; readonly ms: number }
  | { readonly do: "wait"; readonly name: string; readonly timeoutMs: number | null }
  | { readonly do: "call"; readonly call: PlannedCall }
  | { readonly do: "together"; readonly parts: readonly Part[] };

export interface DurableWork {
  readonly parts: readonly Part[];
  /** It goes on when a called job failed. */
  readonly isTolerant: boolean;
}

/** Who runs durable work, and where it is written down. */
export interface DurableRunner {
  readonly ctx: Context<Script>;
  readonly recorder: Recorder;
  readonly clock: Clock;
}

export async function runDurable(runner: DurableRunner, { parts, isTolerant }: DurableWork): Promise<void> {
  for (const part of parts) await runPart(runner, part, isTolerant);
}

async function runPart(runner: DurableRunner, part: Part, isTolerant: boolean): Promise<void> {
  const { ctx } = runner;
  switch (part.do) {
    case "step":
      return wentOn(runner, part.name, "step", "done", await ctx.step(part.name, () => effect(runner, part)));
    case "sleep":
      await ctx.sleep(part.name, part.ms);
      return wentOn(runner, part.name, "sleep", "done", undefined);
    case "wait": {
      const payload: unknown = await ctx.waitFor(part.name, part.timeoutMs === null ? {} : { timeout: part.timeoutMs });
      return wentOn(runner, part.name, "wait", payload === null ? "timeout" : "done", payload ?? undefined);
    }
    case "call":
      return runCall(runner, part.call, isTolerant);
    case "together":
      await Promise.all(part.parts.map((each) => runPart(runner, each, isTolerant)));
  }
}

/** What somebody outside can see. It names its fence, so that the result of another attempt is another one. */
async function effect({ ctx, recorder, clock }: DurableRunner, { name, ms, failsUpTo = 0 }: Part & { do: "step" }): Promise<unknown> {
  const { id: job, fence, workerId } = ctx.job;
  await sleep(clock, ms / 2, ctx.signal);
  ctx.signal.throwIfAborted();
  recorder.see("effect", { worker: workerId!, job, fence, step: name });
  await sleep(clock, ms / 2, ctx.signal);
  if (fence <= failsUpTo) throw new Error(`step ${name} failed under fence ${fence}`);
  return { name, fence };
}

async function runCall(runner: DurableRunner, { step, type, payload, options }: PlannedCall, isTolerant: boolean): Promise<void> {
  try {
    wentOn(runner, step, "call", "done", await runner.ctx.call(step, type, payload, options));
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error;
    wentOn(runner, step, "call", "failed", error.error);
    if (!isTolerant) throw error;
  }
}

function wentOn(
  { ctx, recorder }: DurableRunner,
  step: string,
  kind: "step" | "sleep" | "wait" | "call",
  state: "done" | "failed" | "timeout",
  value: unknown,
): void {
  const { id: job, fence, workerId } = ctx.job;
  const text = value === undefined ? null : JSON.stringify(value);
  recorder.see("went-on", { worker: workerId!, job, fence, step, kind, state, value: printOfText(text) });
}
