/** What the end of an attempt needs to know of the job, as it was when this process claimed it. */
export interface Grant {
  readonly seq: number;
  readonly fence: number;
  readonly queue: number;
  readonly priority: number;
  readonly startedAt: number;
  readonly runAt: number;
}

/** More than any process has slots; what is left over from leases that were lost goes with the oldest. */
const MOST = 20_000;

/**
 * The leases that were granted here. A completion that finds its job by row number and has nothing to read takes 3 µs; one that looks it up
 * by id and returns what counts takes 8. It is a hint: the write still checks id, state and fence, and without it the long way is taken.
 */
export class GrantedLeases {
  readonly #grants = new Map<string, Grant>();

  add(id: string, grant: Grant): void {
    if (this.#grants.size >= MOST) this.#forgetOldest();
    this.#grants.set(id, grant);
  }

  /** Gives the grant and forgets it: a lease ends once. */
  take(id: string, fence: number): Grant | undefined {
    const grant = this.#grants.get(id);
    if (grant === undefined || grant.fence !== fence) return undefined;
    this.#grants.delete(id);
    return grant;
  }

  #forgetOldest(): void {
    for (const id of this.#grants.keys()) {
      this.#grants.delete(id);
      return;
    }
  }
}
