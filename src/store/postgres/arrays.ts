/**
 * Arrays as values of a statement, as text or in binary. In binary the server copies what it would otherwise parse, and nothing is quoted:
 * that saves 4 % of the server's instructions for an exchange of 100 jobs, 12 % for an insert of 500, and most of our own time to prepare it
 * (0.26 instead of 2.1 µs a job of 150 bytes).
 *
 * Only `pg` is known to send a Buffer as binary. So binary arrays are for our own connections, and texts for those of the application, which
 * any driver passes on.
 */
import { ids, numbers, texts } from "./codec.ts";

export interface Arrays {
  readonly ids: (values: readonly string[]) => string | Buffer;
  readonly ints: (values: readonly (number | null)[]) => string | Buffer;
  readonly bigints: (values: readonly (number | null)[]) => string | Buffer;
  readonly floats: (values: readonly (number | null)[]) => string | Buffer;
  readonly texts: (values: readonly (string | null)[]) => string | Buffer;
}

export const TEXT_ARRAYS: Arrays = { ids, ints: numbers, bigints: numbers, floats: numbers, texts };

export const BINARY_ARRAYS: Arrays = {
  ids: binaryIds,
  ints: (values) => fixed(INT, 4, values, (array, value, at) => array.writeInt32BE(value, at)),
  bigints: (values) => fixed(BIGINT, 8, values, writeBigint),
  floats: (values) => fixed(FLOAT, 8, values, (array, value, at) => array.writeDoubleBE(value, at)),
  texts: binaryTexts,
};

/** The server's numbers for the types of the elements. */
const UUID = 2950;
const INT = 23;
const BIGINT = 20;
const FLOAT = 701;
const TEXT = 25;

/** An array is: 1 dimension, whether there are nulls, the type, how many, the number of the first; then each element after its length. */
const HEAD_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL = -1;

const ID_BYTES = 16;
const ID_LENGTH = 36;
const DASH = "-".charCodeAt(0);
const NO_DIGIT = 0xff;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const digit of "0123456789abcdefABCDEF") DIGITS[digit.charCodeAt(0)] = Number.parseInt(digit, 16);

/** As text if one is not written as we write ids: the server knows more ways, and refuses the rest. */
function binaryIds(values: readonly string[]): string | Buffer {
  const array = newArray(UUID, values.length, values.length * ID_BYTES, false);
  let at = HEAD_BYTES;
  for (const id of values) {
    if (!writeId(array, id, array.writeInt32BE(ID_BYTES, at))) return ids(values);
    at += LENGTH_BYTES + ID_BYTES;
  }
  return array;
}

/** Whether it could. */
function writeId(array: Buffer, id: string, from: number): boolean {
  if (id.length !== ID_LENGTH) return false;
  let at = from;
  for (let index = 0; index < ID_LENGTH;) {
    if (index === 8 || index === 13 || index === 18 || index === 23) {
      if (id.charCodeAt(index++) !== DASH) return false;
    }
    const high = DIGITS[id.charCodeAt(index++)] ?? NO_DIGIT;
    const low = DIGITS[id.charCodeAt(index++)] ?? NO_DIGIT;
    if (high === NO_DIGIT || low === NO_DIGIT) return false;
    array[at++] = (high << 4) | low;
  }
  return true;
}

function fixed(
  type: number,
  bytes: number,
  values: readonly (number | null)[],
  write: (array: Buffer, value: number, at: number) => void,
): Buffer {
  const nulls = values.reduce<number>((count, value) => (value === null ? count + 1 : count), 0);
  const array = newArray(type, values.length, (values.length - nulls) * bytes, nulls > 0);
  let at = HEAD_BYTES;
  for (const value of values) {
    at = array.writeInt32BE(value === null ? NULL : bytes, at);
    if (value === null) continue;
    write(array, value, at);
    at += bytes;
  }
  return array;
}

/** In two halves: a BigInt for each number costs more than the text. */
function writeBigint(array: Buffer, value: number, at: number): void {
  array.writeInt32BE(Math.floor(value / 2 ** 32), at);
  array.writeUInt32BE(value >>> 0, at + 4);
}

function binaryTexts(values: readonly (string | null)[]): Buffer {
  const lengths = values.map((value) => (value === null ? NULL : Buffer.byteLength(value)));
  const bytes = lengths.reduce((sum, length) => sum + Math.max(length, 0), 0);
  const array = newArray(TEXT, values.length, bytes, lengths.includes(NULL));
  let at = HEAD_BYTES;
  values.forEach((value, index) => {
    at = array.writeInt32BE(lengths[index]!, at);
    if (value !== null) at += array.write(value, at);
  });
  return array;
}

/** With its head, and room for its elements. */
function newArray(type: number, length: number, bytes: number, hasNulls: boolean): Buffer {
  const array = Buffer.allocUnsafe(HEAD_BYTES + length * LENGTH_BYTES + bytes);
  [1, hasNulls ? 1 : 0, type, length, 1].forEach((number, index) => array.writeInt32BE(number, index * 4));
  return array;
}
