/**
 * Calls that go on by themselves: what each asks for is held by a transaction that somebody else has open, and those with which it was gathered
 * have their answers already.
 */
export class PendingCalls {
  readonly #underWay = new Set<Promise<unknown>>();

  /** Hands the call on, and remembers it until it has ended. */
  add<Answer>(call: Promise<Answer>): Promise<Answer> {
    this.#underWay.add(call);
    const forget = (): void => void this.#underWay.delete(call);
    call.then(forget, forget);
    return call;
  }

  async whenIdle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }
}
