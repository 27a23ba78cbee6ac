import { type CallOptions, type Context, IS_ABORTED, IS_OF_MANY } from "../client/client.ts";
import type { Job } from "../core/job.ts";
import { WHEN_SUSPENDED } from "../core/steps.ts";
import type { Attempt } from "./attempt.ts";

/** What a handler gets. Its functions can be taken out: `const { log } = ctx`. */
export class AttemptContext implements Context {
  readonly #attempt: Attempt;
  readonly job: Job;

  constructor(attempt: Attempt, job: Job) {
    this.#attempt = attempt;
    this.job = job;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get [IS_ABORTED](): boolean {
    return this.#attempt.isAborted;
  }

  [IS_OF_MANY](): void {
    this.#attempt.isOfMany = true;
  }

  [WHEN_SUSPENDED](listener: () => void): void {
    this.#attempt.whenSuspended = listener;
  }

  get log(): Context["log"] {
    return (text) => this.#attempt.log(text);
  }

  get progress(): Context["progress"] {
    return (percent, note) => this.#attempt.progress(percent, note);
  }

  get spend(): Context["spend"] {
    return (units) => this.#attempt.spend(units);
  }

  get step(): Context["step"] {
    return ((name, run) => this.#attempt.steps.step(name, run)) as Context["step"];
  }

  get sleep(): Context["sleep"] {
    return (name, time) => this.#attempt.steps.sleep(name, time);
  }

  get sleepUntil(): Context["sleepUntil"] {
    return (name, time) => this.#attempt.steps.sleepUntil(name, time);
  }

  get waitFor(): Context["waitFor"] {
    return ((name, options) => this.#attempt.steps.waitFor(name, options)) as Context["waitFor"];
  }

  get call(): Context["call"] {
    return ((name: string, kind: string, payload: unknown, options: CallOptions | undefined) =>
      this.#attempt.steps.call(name, kind, payload, options)) as Context["call"];
  }

  get signalUrl(): Context["signalUrl"] {
    return (name, options) => this.#attempt.steps.signalUrl(name, options);
  }

  get flow(): Context["flow"] {
    return this.#attempt.flow;
  }

  get complete(): Context["complete"] {
    // A caller without types may omit the options.
    return (result, options: Parameters<Context["complete"]>[1] | undefined) => this.#attempt.complete(result, options?.tx);
  }

  get holdLease(): Context["holdLease"] {
    return (time) => this.#attempt.holdLease(time);
  }
}
