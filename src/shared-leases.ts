/** The leases of a worker, where its own thread writes them and the beat thread reads them, with no message between the two. */
import { readSharedRows, SharedRows } from "./lib/shared-rows.ts";
import type { BookCopy, Held } from "./worker/lease-book.ts";

/** By how much the clock of this thread is behind that of the machine: each thread counts from its own start. */
const behindMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export class SharedLeases implements BookCopy {
  readonly #rows: SharedRows;

  /** `onGrown` is told of the memory that counts from then on. */
  constructor(onGrown: (buffer: SharedArrayBuffer) => void) {
    this.#rows = new SharedRows(onGrown);
  }

  get buffer(): SharedArrayBuffer {
    return this.#rows.buffer;
  }

  add({ id, fence, stopAt, heldAt }: Held): number {
    return this.#rows.add(id, fence, stopAt + behindMs, heldAt + behindMs);
  }

  remove(place: number): void {
    this.#rows.remove(place);
  }
}

/** What is held now. */
export function readSharedLeases(buffer: SharedArrayBuffer): Held[] {
  return readSharedRows(buffer).map(({ text: id, numbers: [fence, stopAt, heldAt] }) => {
    return { id, fence, stopAt: stopAt - behindMs, heldAt: heldAt - behindMs };
  });
}
