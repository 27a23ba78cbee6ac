import type { Context } from "../client/client.ts";
import type { Job } from "../core/job.ts";

/** Who does what a context promises. */
export interface ContextSource {
  readonly signal: AbortSignal;
  log(text: unknown): void;
  progress(percent: unknown, note: unknown): void;
  complete(result: unknown, tx: unknown): Promise<void>;
  holdLease(time: unknown): Promise<void>;
}

/** What a handler is given. The functions are made when they are read, and may be taken out of it: `const { log } = ctx`. */
export class AttemptContext implements Context {
  readonly #source: ContextSource;
  readonly job: Job;

  constructor(source: ContextSource, job: Job) {
    this.#source = source;
    this.job = job;
  }

  get signal(): AbortSignal {
    return this.#source.signal;
  }

  get log(): Context["log"] {
    return (text) => this.#source.log(text);
  }

  get progress(): Context["progress"] {
    return (percent, note) => this.#source.progress(percent, note);
  }

  get complete(): Context["complete"] {
    // A caller without types may leave the options out.
    return (result, options: Parameters<Context["complete"]>[1] | undefined) => this.#source.complete(result, options?.tx);
  }

  get holdLease(): Context["holdLease"] {
    return (time) => this.#source.holdLease(time);
  }
}
