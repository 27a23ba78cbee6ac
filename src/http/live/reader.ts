import type { Frame, Ring } from "./ring.ts";

/** How much `next` gives at once: as much as one write should have. */
const MAX_CHARS = 64 * 1024;

export interface ReaderOptions {
  readonly ring: Ring;
  /** The id of the last event that the reader got; null to start now. */
  readonly lastId: string | null;
  readonly now: () => number;
  readonly onClose: () => void;
}

/**
 * A reader, as a position in the ring. Nothing is buffered for it: it takes the next events after it has written the last ones. If it is
 * so slow that the ring dropped events which it has not read, it gets a gap with their number.
 */
export class Reader {
  readonly #ring: Ring;
  readonly #now: () => number;
  readonly #onClose: () => void;
  #next: number;
  /** Events that were missed, until the gap is sent. */
  #gap: { missed: number } | null = null;
  #isOpen = true;
  #wake: () => void = () => {};

  constructor({ ring, lastId, now, onClose }: ReaderOptions) {
    this.#ring = ring;
    this.#now = now;
    this.#onClose = onClose;
    const last = lastId === null ? null : ring.numberOf(lastId);
    this.#next = last === null ? ring.end : last + 1;
    if (lastId !== null && last === null) this.#gap = { missed: 0 };
  }

  /** The id after which this reader continues. */
  get position(): string {
    return this.#ring.idOf(this.#next - 1);
  }

  /** Resolves with the events since the last call, as soon as there are some; null once it was closed. One call at a time. */
  async next(): Promise<readonly Frame[] | null> {
    while (this.#isOpen) {
      const frames = this.#take();
      if (frames.length > 0) return frames;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return null;
  }

  /** There may be new events. */
  wake(): void {
    this.#wake();
  }

  /** May be called twice. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#wake();
    this.#onClose();
  }

  #take(): Frame[] {
    const { first, end } = this.#ring;
    if (this.#next < first) {
      this.#gap = { missed: (this.#gap?.missed ?? 0) + first - this.#next };
      this.#next = first;
    }
    const frames: Frame[] = [];
    if (this.#gap !== null) frames.push(this.#ring.frameOf({ event: "gap", at: this.#now(), ...this.#gap }, this.#next - 1));
    this.#gap = null;
    for (let chars = 0; this.#next < end && chars < MAX_CHARS; this.#next++) {
      const frame = this.#ring.at(this.#next);
      frames.push(frame);
      chars += frame.data.length;
    }
    return frames;
  }
}
