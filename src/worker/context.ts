import { type Context, IS_ABORTED } from "../client/client.ts";
import type { Job } from "../core/job.ts";
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

  get log(): Context["log"] {
    return (text) => this.#attempt.log(text);
  }

  get progress(): Context["progress"] {
    return (percent, note) => this.#attempt.progress(percent, note);
  }

  get spend(): Context["spend"] {
    return (units) => this.#attempt.spend(units);
  }

  get complete(): Context["complete"] {
    // A caller without types may omit the options.
    return (result, options: Parameters<Context["complete"]>[1] | undefined) => this.#attempt.complete(result, options?.tx);
  }

  get holdLease(): Context["holdLease"] {
    return (time) => this.#attempt.holdLease(time);
  }
}
