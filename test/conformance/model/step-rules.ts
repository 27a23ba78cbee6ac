/** THE STEPS OF ONE JOB, in the plainest form. */
import type { JobRecord, Status } from "../../../src/core/job.ts";
import type { NewStep, Notice, StepEnd, StepRecord } from "../../../src/core/steps.ts";

export class StepRules {
  readonly #byName = new Map<string, StepRecord>();
  life = 1;

  /** What a reader sees: by the bytes of their names. */
  page(): { life: number; steps: StepRecord[] } {
    const bytes = ({ name }: StepRecord): string => Buffer.from(name).toString("hex");
    const steps = [...this.#byName.values()].sort((one, other) => (bytes(one) < bytes(other) ? -1 : 1));
    return { life: this.life, steps };
  }

  keep(step: NewStep, attempt: number, now: number): void {
    const { name, kind, state, value, detail } = step;
    const before = this.#byName.get(name);
    const newUntil = step.untilMs === null ? null : now + step.untilMs;
    this.#byName.set(name, {
      name,
      kind,
      state,
      value,
      until: before?.state === "open" && state === "open" ? before.until : newUntil,
      startedAt: before?.startedAt ?? now,
      endedAt: state === "open" ? null : now,
      attempt: before?.attempt ?? attempt,
      by: null,
      detail,
    });
  }

  /** Opens the waits at which the job was suspended. Tells when the first of them ends by itself; `ended` if one has. */
  open(waits: readonly NewStep[], attempt: number, now: number): "ended" | number | null {
    for (const wait of waits) if (!this.#byName.has(wait.name)) this.keep(wait, attempt, now);
    const steps = waits.map(({ name }) => this.#byName.get(name)!);
    if (steps.some(({ state }) => state !== "open")) return "ended";
    const times = steps.map(({ until }) => until).filter((until) => until !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  endOverdue(now: number): boolean {
    const overdue = [...this.#byName.values()].filter(({ state, until }) => state === "open" && until !== null && until <= now);
    for (const step of overdue) {
      this.#byName.set(step.name, { ...step, state: step.kind === "sleep" ? "done" : "timeout", endedAt: now });
    }
    return overdue.length > 0;
  }

  /** What this end is not for: this life of the job, or a step of this kind. */
  misses({ name, kind, life }: StepEnd): "life" | "kind" | null {
    if (life !== null && life !== this.life) return "life";
    const before = this.#byName.get(name);
    return before === undefined || before.kind === kind ? null : "kind";
  }

  /** `woke`: it was open. */
  end(end: StepEnd, attempt: number, now: number): "ok" | "woke" | { late: StepRecord["state"] } {
    const { name, kind, state, value, by } = end;
    const before = this.#byName.get(name);
    if (this.misses(end) !== null) return { late: before?.state ?? "open" };
    const hasEnded = before !== undefined && before.state !== "open";
    if (hasEnded && before.by === by) return "ok";
    if (hasEnded && before.state !== "failed") return { late: before.state };
    const { until = null, startedAt = now, attempt: first = attempt, detail = null } = before ?? {};
    this.#byName.set(name, { name, kind, state, value, until, startedAt, endedAt: now, attempt: first, by, detail });
    return before?.state === "open" ? "woke" : "ok";
  }

  forget(which: "all" | "failed", hadSteps: boolean): void {
    if (which === "failed") {
      for (const { name, state } of this.page().steps) if (state === "failed") this.#byName.delete(name);
    } else if (hadSteps) {
      this.#byName.clear();
      this.life += 1;
    }
  }
}

const TAKES_ENDS: Status[] = ["scheduled", "pending", "running", "retrying", "blocked", "failed", "dead", "cancelled"];
const CANCELLED = '{"name":"Cancelled","message":"it was cancelled","kind":"cancelled","status":"cancelled"}';

/** What a job that ended tells the one that called it; null if none did. */
export function endNotice(job: Pick<JobRecord, "id" | "fence" | "parent">, state: "done" | "failed", value: string | null): Notice | null {
  const { id, fence, parent } = job;
  if (parent === null) return null;
  const { id: caller, step: name, life } = parent;
  return { kind: "end", end: { id: caller, name, kind: "call", state, value, by: `${id} ${fence}`, life, from: TAKES_ENDS } };
}

/** What a job leaves when it is cancelled. */
export function cancelNotices(job: JobRecord): Notice[] {
  const end = endNotice(job, "failed", CANCELLED);
  const cancel: Notice = { kind: "cancel", id: job.id };
  return [...(job.hasSteps ? [cancel] : []), ...(end === null ? [] : [end])];
}
