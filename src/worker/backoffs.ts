/** BACKOFFS BY NAME. A job may name the function that decides when it is retried. The function is code, so each worker has its own. */
import type { Backoff } from "../client/client.ts";
import { invalid } from "../core/errors.ts";
import { USUAL_JOB } from "../core/job.ts";
import { isName, NAME_RULE } from "../core/read-fields.ts";
import { FIXED_BACKOFF } from "../core/retry.ts";
import type { OnTrouble } from "../core/trouble.ts";

const BUILT_IN: readonly string[] = [USUAL_JOB.backoff, FIXED_BACKOFF];
/** Producers choose names, so there may be any number of them. */
const MOST_WARNINGS = 100;

/** Checks the functions that `work` takes. Throws `invalid_input` and names the wrong one. */
export function readBackoffs(input: unknown = {}): ReadonlyMap<string, Backoff> {
  if (typeof input !== "object" || input === null) throw invalid("backoffs", "an object of functions by name", input);
  for (const [name, backoff] of Object.entries(input)) {
    if (!isName(name)) throw invalid("backoffs", `an object whose keys are names (${NAME_RULE})`, name);
    if (BUILT_IN.includes(name)) throw invalid(`backoffs.${name}`, `named other than ${BUILT_IN.join(" and ")}, which are built in`, name);
    if (typeof backoff !== "function") throw invalid(`backoffs.${name}`, "a function", backoff);
  }
  return new Map(Object.entries(input as Record<string, Backoff>));
}

export class Backoffs {
  readonly #byName: ReadonlyMap<string, Backoff>;
  readonly #onTrouble: OnTrouble;
  readonly #unknown = new Set<string>();

  constructor(byName: ReadonlyMap<string, Backoff>, onTrouble: OnTrouble) {
    this.#byName = byName;
    this.#onTrouble = onTrouble;
  }

  /** The function for jobs with this backoff; `own` is that of their definition. Undefined leaves it to the core: fixed or exponential. */
  find(name: string, own: Backoff | undefined): Backoff | undefined {
    if (name === USUAL_JOB.backoff) return own;
    if (name === FIXED_BACKOFF) return undefined;
    const backoff = this.#byName.get(name);
    if (backoff === undefined) this.#warnOnce(name);
    return backoff;
  }

  #warnOnce(name: string): void {
    if (this.#unknown.has(name) || this.#unknown.size >= MOST_WARNINGS) return;
    this.#unknown.add(name);
    const message = `this worker has no backoff ${name}, so its jobs are retried with ${USUAL_JOB.backoff} backoff. Pass it to work: { backoffs: { ${name}: … } }`;
    this.#onTrouble({ kind: "backoff", message });
  }
}
