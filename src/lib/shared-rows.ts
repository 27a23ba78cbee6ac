/**
 * ROWS IN SHARED MEMORY: one thread writes them, another reads them whenever it likes, and neither waits for the other. To post a message
 * for each change costs a system call and wakes the other thread; a row costs a tenth of a microsecond and wakes nobody.
 *
 * A row is a short ASCII text and three numbers. Its version is odd while it is being written, so that a reader never takes half of one.
 */
export interface SharedRow {
  readonly text: string;
  readonly numbers: readonly [number, number, number];
}

/** The longest text that a row holds. */
export const MAX_TEXT = 40;

const ROW_BYTES = 72;
/** Offsets within a row, in bytes: version, length of the text (0: the row is free), numbers, text. */
const LENGTH_AT = 4;
const NUMBERS_AT = 8;
const TEXT_AT = 32;

const FIRST_CAPACITY = 256;
/** A writer that was interrupted in the middle of a row is waited for so many looks; then the row is left to the next time. */
const MOST_LOOKS = 1000;

/** The writing side. */
export class SharedRows {
  #view: View;
  #free: number[];
  readonly #onGrown: (buffer: SharedArrayBuffer) => void;

  /** `onGrown` is told of the memory that counts from then on. */
  constructor(onGrown: (buffer: SharedArrayBuffer) => void) {
    this.#view = new View(new SharedArrayBuffer(FIRST_CAPACITY * ROW_BYTES));
    this.#free = rowsDown(FIRST_CAPACITY, 0);
    this.#onGrown = onGrown;
  }

  get buffer(): SharedArrayBuffer {
    return this.#view.buffer;
  }

  /** Puts a row somewhere, and answers where. */
  add(text: string, one: number, two: number, three: number): number {
    const row = this.#free.pop() ?? this.#grow();
    this.#view.write(row, text, one, two, three);
    return row;
  }

  remove(row: number): void {
    this.#view.clear(row);
    this.#free.push(row);
  }

  #grow(): number {
    const { buffer, capacity } = this.#view;
    const larger = new SharedArrayBuffer(buffer.byteLength * 2);
    new Uint8Array(larger).set(new Uint8Array(buffer));
    this.#view = new View(larger);
    this.#free = rowsDown(capacity * 2, capacity);
    this.#onGrown(larger);
    return this.#free.pop()!;
  }
}

/** The reading side: all rows as they are now. */
export function readSharedRows(buffer: SharedArrayBuffer): SharedRow[] {
  const view = new View(buffer);
  const rows: SharedRow[] = [];
  for (let row = 0; row < view.capacity; row++) {
    const read = view.read(row);
    if (read !== null) rows.push(read);
  }
  return rows;
}

class View {
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

  write(row: number, text: string, one: number, two: number, three: number): void {
    if (text.length > MAX_TEXT) throw new RangeError(`a shared row holds a text of at most ${MAX_TEXT} characters`);
    const at = row * ROW_BYTES;
    Atomics.add(this.#integers, at / 4, 1);
    const numbers = (at + NUMBERS_AT) / 8;
    this.#numbers[numbers] = one;
    this.#numbers[numbers + 1] = two;
    this.#numbers[numbers + 2] = three;
    for (let index = 0; index < text.length; index++) this.#bytes[at + TEXT_AT + index] = text.charCodeAt(index);
    this.#integers[(at + LENGTH_AT) / 4] = text.length;
    Atomics.add(this.#integers, at / 4, 1);
  }

  clear(row: number): void {
    const at = row * ROW_BYTES;
    Atomics.add(this.#integers, at / 4, 1);
    this.#integers[(at + LENGTH_AT) / 4] = 0;
    Atomics.add(this.#integers, at / 4, 1);
  }

  /** Null: the row is free, or its writer stands still in the middle of it. */
  read(row: number): SharedRow | null {
    const at = row * ROW_BYTES;
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const version = Atomics.load(this.#integers, at / 4);
      if (version % 2 !== 0) continue;
      const found = this.#take(at);
      if (Atomics.load(this.#integers, at / 4) === version) return found;
    }
    return null;
  }

  #take(at: number): SharedRow | null {
    const length = Atomics.load(this.#integers, (at + LENGTH_AT) / 4);
    if (length === 0) return null;
    const numbers = (at + NUMBERS_AT) / 8;
    return {
      text: String.fromCharCode(...this.#bytes.subarray(at + TEXT_AT, at + TEXT_AT + length)),
      numbers: [this.#numbers[numbers]!, this.#numbers[numbers + 1]!, this.#numbers[numbers + 2]!],
    };
  }
}

/** The lowest at the end, where it is taken first: rows in use stay close together. */
function rowsDown(from: number, to: number): number[] {
  return Array.from({ length: from - to }, (_, index) => from - 1 - index);
}
