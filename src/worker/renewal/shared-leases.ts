import type { Held } from "./lease-book.ts";

/** The longest id that a row holds. */
const MAX_ID = 40;

const ROW_BYTES = 72;
/** Offsets in a row, in bytes: version, length of the id (0 if the row is free), fence and times, id. */
const LENGTH_AT = 4;
const NUMBERS_AT = 8;
const ID_AT = 32;

const FIRST_CAPACITY = 256;
/** How often a row that is being written is read again; then it is left to the next time. */
const MOST_LOOKS = 1000;

/** How far this thread's clock is behind the machine's: each thread counts from its own start. */
const behindMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * THE LEASES OF A WORKER IN SHARED MEMORY: the main thread writes them, the beat thread reads them at any time, and neither waits for the other.
 * A message for each change would cost a system call and wake the other thread; a row costs a tenth of a microsecond and wakes nobody.
 *
 * The version of a row is odd while it is being written, so that a reader never takes half of it.
 */
export class SharedLeases {
  #rows: Rows;
  #free: number[];
  readonly #onGrown: (buffer: SharedArrayBuffer) => void;

  /** `onGrown` is called with the new memory, which replaces the old one. */
  constructor(onGrown: (buffer: SharedArrayBuffer) => void) {
    this.#rows = new Rows(new SharedArrayBuffer(FIRST_CAPACITY * ROW_BYTES));
    this.#free = rowsDown(FIRST_CAPACITY, 0);
    this.#onGrown = onGrown;
  }

  get buffer(): SharedArrayBuffer {
    return this.#rows.buffer;
  }

  /** Returns the row that it uses. */
  add(lease: Held): number {
    const row = this.#free.pop() ?? this.#grow();
    this.#rows.write(row, lease);
    return row;
  }

  remove(row: number): void {
    this.#rows.clear(row);
    this.#free.push(row);
  }

  #grow(): number {
    const { buffer, capacity } = this.#rows;
    const larger = new SharedArrayBuffer(buffer.byteLength * 2);
    new Uint8Array(larger).set(new Uint8Array(buffer));
    this.#rows = new Rows(larger);
    this.#free = rowsDown(capacity * 2, capacity);
    this.#onGrown(larger);
    return this.#free.pop()!;
  }
}

export function readSharedLeases(buffer: SharedArrayBuffer): Held[] {
  const rows = new Rows(buffer);
  const leases: Held[] = [];
  for (let row = 0; row < rows.capacity; row++) {
    const lease = rows.read(row);
    if (lease !== null) leases.push(lease);
  }
  return leases;
}

class Rows {
  readonly buffer: SharedArrayBuffer;
  readonly capacity: number;
  readonly #integers: Int32Array;
  readonly #numbers: Float64Array;
  readonly #bytes: Uint8Array;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.capacity = buffer.byteLength / ROW_BYTES;
    this.#integers = new Int32Array(buffer);
    this.#numbers = new Float64Array(buffer);
    this.#bytes = new Uint8Array(buffer);
  }

  write(row: number, { id, fence, stopAt, heldAt }: Held): void {
    if (id.length > MAX_ID) throw new RangeError(`a shared lease has an id of at most ${MAX_ID} characters`);
    const at = row * ROW_BYTES;
    Atomics.add(this.#integers, at / 4, 1);
    const numbers = (at + NUMBERS_AT) / 8;
    this.#numbers[numbers] = fence;
    this.#numbers[numbers + 1] = stopAt + behindMs;
    this.#numbers[numbers + 2] = heldAt + behindMs;
    for (let index = 0; index < id.length; index++) this.#bytes[at + ID_AT + index] = id.charCodeAt(index);
    this.#integers[(at + LENGTH_AT) / 4] = id.length;
    Atomics.add(this.#integers, at / 4, 1);
  }

  clear(row: number): void {
    const at = row * ROW_BYTES;
    Atomics.add(this.#integers, at / 4, 1);
    this.#integers[(at + LENGTH_AT) / 4] = 0;
    Atomics.add(this.#integers, at / 4, 1);
  }

  /** Null if the row is free, or its writer does not finish. */
  read(row: number): Held | null {
    const at = row * ROW_BYTES;
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const version = Atomics.load(this.#integers, at / 4);
      if (version % 2 !== 0) continue;
      const found = this.#take(at);
      if (Atomics.load(this.#integers, at / 4) === version) return found;
    }
    return null;
  }

  #take(at: number): Held | null {
    const length = Atomics.load(this.#integers, (at + LENGTH_AT) / 4);
    if (length === 0) return null;
    const numbers = (at + NUMBERS_AT) / 8;
    return {
      id: String.fromCharCode(...this.#bytes.subarray(at + ID_AT, at + ID_AT + length)),
      fence: this.#numbers[numbers]!,
      stopAt: this.#numbers[numbers + 1]! - behindMs,
      heldAt: this.#numbers[numbers + 2]! - behindMs,
    };
  }
}

/** Lowest row last, because it is taken first: rows in use stay close together. */
function rowsDown(from: number, to: number): number[] {
  return Array.from({ length: from - to }, (_, index) => from - 1 - index);
}
