import type { Asked, Granted, Phase, SentJob, ToldStep } from "./line.ts";
import { sentJob, settlement, type Tale } from "./tale.ts";

/** A step as the store tells of it. */
export function told(
  step: string,
  kind: ToldStep["kind"],
  state: ToldStep["state"],
  value: string | null = null,
  by: string | null = null,
): ToldStep {
  return { step, kind, state, value, by, until: null };
}

/** WHAT IS TOLD OF DURABLE WORK, beside what a Tale tells: worker `w` works on job `a`, unless it is said otherwise. */
export class DurableTale {
  readonly tale: Tale;

  constructor(tale: Tale, ...jobs: readonly string[]) {
    this.tale = tale;
    for (const job of jobs) tale.insert(job);
  }

  /** The next lease of a job that was suspended, or is due again for another reason. */
  resume(fence: number, wishes: Partial<Granted> = {}, job = "a"): this {
    this.tale.claim("w", [job, fence, { attempt: 1, retryCount: 0, runAt: this.tale.engine, ...wishes }]);
    return this;
  }

  wait(ms: number): this {
    this.tale.wait(ms);
    return this;
  }

  start(job = "a"): this {
    this.tale.claim("w", [job, 1]);
    return this;
  }

  /** A step runs, and its result is stored. */
  step(step: string, fence: number, phase: Phase = "ok", value = `${step} of ${fence}`): this {
    return this.effect(step, fence).keep(step, fence, phase, value);
  }

  effect(step: string, fence: number): this {
    this.tale.see("effect", { worker: "w", job: "a", fence, step }, "w");
    return this;
  }

  keep(step: string, fence: number, phase: Phase = "ok", value = `${step} of ${fence}`): this {
    const steps = [{ step, kind: "step", state: "done", value } as const];
    this.tale.call("keep-steps", { job: "a", fence, steps }, phase, phase === "fail" ? { answer: "stale" } : {}, "w");
    return phase === "ok" ? this.wentOn(fence, told(step, "step", "done", value)) : this;
  }

  wentOn(fence: number, { step, kind, state, value }: ToldStep): this {
    this.tale.see("went-on", { worker: "w", job: "a", fence, step, kind, state, value }, "w");
    return this;
  }

  read(fence: number, ...steps: readonly ToldStep[]): this {
    this.tale.call("read-steps", { job: "a", fence }, "ok", { life: 1, steps, isWhole: true }, "w");
    return this;
  }

  /** The attempt is suspended at these waits; `children` are the jobs that it calls, by step. */
  suspend(
    fence: number,
    waits: NonNullable<Asked["settle"]["waits"]>,
    children: Readonly<Record<string, string>> = {},
    phase: Phase = "ok",
  ): this {
    const calls = Object.entries(children).map(([step, child]): SentJob => ({ ...sentJob(child), parent: { job: "a", step } }));
    const to = waits.every(({ kind }) => kind === "sleep") ? "scheduled" : "blocked";
    const said = { outcome: "suspend", to, result: null, waits, ...(calls.length === 0 ? {} : { calls }) } as const;
    this.tale.see("abort", { worker: "w", job: "a", fence }, "w");
    this.tale.call("settle", settlement("a", fence, said), phase, phase === "fail" ? { answer: "stale" } : {}, "w");
    return this;
  }

  /** Somebody ends a step: a signal, or the end of a called job. */
  end(step: ToldStep & { readonly by: string }, phase: Phase = "ok", answer: { kind?: "late"; state?: ToldStep["state"] } = {}): this {
    const { step: name, kind, state, value, by } = step;
    this.tale.call(
      "end-step",
      { job: "a", step: name, kind, state, value, by },
      phase,
      phase === "ok" ? { kind: "ok", woke: true } : answer,
      "p",
    );
    return this;
  }

  signal(by: string, phase: Phase = "ok", answer: { kind?: "late"; state?: ToldStep["state"] } = {}): this {
    return this.end({ ...signalBy(by), by }, phase, answer);
  }

  /** A called job runs and completes. */
  child(child: string, result = `result of ${child}`): this {
    this.tale.claim("v", [child, 1]).see("end", { worker: "v", job: child, fence: 1, how: "ok" }, "v").settle("v", child, 1, { result });
    return this;
  }

  restart(was: "dead" | "cancelled" = "dead"): this {
    this.tale.call("retry", { job: "a", forgets: "all" }, "ok", { was }, "operator");
    return this;
  }
}

export const WAIT = { step: "go", kind: "wait", untilMs: null } as const;
export const CALL = { step: "part", kind: "call", untilMs: null } as const;

/** The wait for `go` as a signal has ended it. */
export function signalBy(by: string): ToldStep {
  return told("go", "wait", "done", `payload of ${by}`, by);
}

/** The call of `part` as the end of a job has ended it. */
export function partBy(child: string, fence = 1): ToldStep & { readonly by: string } {
  return { ...told("part", "call", "done", `result of ${child}`), by: `${child} ${fence}` };
}
