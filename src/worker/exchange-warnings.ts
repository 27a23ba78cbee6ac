import type { Report } from "../client/client.ts";
import { counted } from "../core/counted.ts";
import { formatDuration } from "../core/duration.ts";
import { messageOf, MillraceError } from "../core/errors.ts";
import type { OnTrouble, Trouble } from "../core/trouble.ts";

const OPEN_TRANSACTION = "called ctx.complete still open?";
/** How many jobs a message names. */
const NAMED = 3;

/** WHAT GOES WRONG BETWEEN A WORKER AND ITS STORE, in words for a person. A state that lasts is told once. */
export class ExchangeWarnings {
  readonly #tell: OnTrouble;
  readonly #settleMs: number;
  #isOverrun = false;
  #hasTooManyUnreported = false;

  /** `settleMs`: how long a handler may go on after its abort. */
  constructor(tell: OnTrouble, settleMs: number) {
    this.#tell = tell;
    this.#settleMs = settleMs;
  }

  unreachable(error: unknown): void {
    const isRefused = error instanceof MillraceError && (error.code === "unauthorized" || error.code === "forbidden");
    const what = isRefused ? "the server refuses this worker" : "a worker cannot reach the store and keeps trying";
    this.#warn("store", `${what}: ${messageOf(error)}`, error);
  }

  notStarted(jobs: number, error: unknown): void {
    const what = `${counted(jobs, "claimed job")} could not be started; these attempts will count as lost`;
    this.#warn("claim", `${what}: ${messageOf(error)}`, error);
  }

  givenUp(reports: readonly Report[], error: unknown): void {
    const ids = reports.slice(0, NAMED).map(({ id }) => id);
    const attempts = reports.length === 1 ? "the attempt" : "these attempts";
    const what = `the outcome of ${counted(reports.length, "job")} (${ids.join(", ")}) could not be reported`;
    this.#warn("report", `${what}; ${attempts} will count as lost`, error);
  }

  /** A report was refused for a while, although the store answers. */
  stuck({ id }: Report, error: unknown): void {
    const what = `the outcome of job ${id} could not be reported yet and will be tried again`;
    this.#warn("report", `${what}. Is a transaction that ${OPEN_TRANSACTION} ${messageOf(error)}`, error);
  }

  /** Claims stopped because of abandoned handlers, or go on. */
  overrun(isOverrun: boolean, abandoned: number): void {
    const wasOverrun = this.#isOverrun;
    this.#isOverrun = isOverrun;
    if (wasOverrun || !isOverrun) return;
    const settle = formatDuration(this.#settleMs);
    const why = `${counted(abandoned, "handler still runs", "handlers still run")} ${settle} after the abort`;
    const remedy = "Make handlers end when ctx.signal aborts, or restart this process";
    this.#warn("abandoned", `a worker stopped claiming: ${why}. ${remedy}`);
  }

  /** Claims stopped because of outcomes that could not be reported, or go on. */
  tooManyUnreported(hasTooMany: boolean, unreported: number): void {
    const hadTooMany = this.#hasTooManyUnreported;
    this.#hasTooManyUnreported = hasTooMany;
    if (hadTooMany === hasTooMany) return;
    const message = hadTooMany
      ? `a worker claims jobs again: ${counted(unreported, "outcome is", "outcomes are")} left to report`
      : `a worker stopped claiming: ${counted(unreported, "outcome")} could not be reported yet. Are transactions that ${OPEN_TRANSACTION}`;
    this.#warn("report", message);
  }

  #warn(kind: Trouble["kind"], message: string, error?: unknown): void {
    this.#tell({ kind, message, error });
  }
}
