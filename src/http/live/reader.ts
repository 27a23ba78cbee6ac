import type { Frame, Ring } from "./ring.ts";

/** What is handed out at once: as much as one write should have. */
const MAX_CHARS = 64 * 1024;

export interface ReaderOptions {
  readonly ring: Ring;
  /** The id of the last event that the reader had; null for one who wants to hear from now on. */
  readonly lastId: string | null;
  readonly now: () => number;
  readonly onClose: () => void;
}

/**
 * One who reads, as a place in the ring. Nothing is kept for a reader: it is asked for the next events when it has written those it had, and
 * one that is so slow that the ring dropped what it has not read is told how many that were.
 */
export class Reader {
  readonly #ring: Ring;
  readonly #now: () => number;
  readonly #onClose: () => void;
  #next: number;
  /** What was missed and not told yet. */
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

  /** The id after which this reader goes on. */
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

  /** There may be something new. */
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
