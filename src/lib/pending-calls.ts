/** Calls that wait on their own, outside of a batch: for a lock of another transaction, or before they can be in one. */
export class PendingCalls {
  readonly #inProgress = new Set<Promise<unknown>>();

  /** Returns the call, and remembers it until it ends. */
  add<Answer>(call: Promise<Answer>): Promise<Answer> {
    this.#inProgress.add(call);
    const forget = (): void => void this.#inProgress.delete(call);
    call.then(forget, forget);
    return call;
  }

  async whenIdle(): Promise<void> {
    await Promise.allSettled(this.#inProgress);
  }
}
