/** Calls that wait alone for a lock of another transaction. The other calls of their batch already have their answers. */
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
