/**
 * Ids in the store are 22 characters of base64url: as small as 16 bytes, because of the allocator's size classes, and readable in
 * redis-cli. Three hex digits of the id are two characters; the last two digits are two more.
 */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** All that two characters of an id can be. */
const PAIRS: readonly string[] = Array.from({ length: 4096 }, (_, bits) => ALPHABET[bits >> 6]! + ALPHABET[bits & 63]!);

/** The names of all buckets of a partition. */
export const TAGS: readonly string[] = PAIRS;

const DIGITS = valuesOf("0123456789abcdef");
for (let digit = 10; digit < 16; digit++) DIGITS[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
const CHARACTERS = valuesOf(ALPHABET);
const CODES = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0));

function valuesOf(alphabet: string): Uint8Array {
  const values = new Uint8Array(256);
  for (let index = 0; index < alphabet.length; index++) values[alphabet.charCodeAt(index)] = index;
  return values;
}

/** The positions of a UUID's digits, in groups of three; the last group has two. */
const GROUPS: readonly (readonly [number, number, number])[] = groupsOf();

function groupsOf(): [number, number, number][] {
  const places = Array.from({ length: 36 }, (_, index) => index).filter((index) => ![8, 13, 18, 23].includes(index));
  return Array.from({ length: 10 }, (_, group) => places.slice(3 * group, 3 * group + 3) as [number, number, number]);
}

/** Ids are written into one buffer, as lib/id.ts makes them: joined pieces take twice as long to make, to look up and to send. */
const short = Buffer.alloc(22);
const text = Buffer.from("00000000-0000-0000-0000-000000000000", "latin1");
const HEX = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

export function shortId(id: string): string {
  for (let group = 0; group < 10; group++) {
    const [a, b, c] = GROUPS[group]!;
    writePair(2 * group, (DIGITS[id.charCodeAt(a)]! << 8) | (DIGITS[id.charCodeAt(b)]! << 4) | DIGITS[id.charCodeAt(c)]!);
  }
  writePair(20, (DIGITS[id.charCodeAt(34)]! << 8) | (DIGITS[id.charCodeAt(35)]! << 4));
  return short.toString("latin1");
}

function writePair(at: number, bits: number): void {
  short[at] = CODES[bits >> 6]!;
  short[at + 1] = CODES[bits & 63]!;
}

export function longId(characters: Uint8Array): string {
  for (let group = 0; group < 10; group++) {
    const [a, b, c] = GROUPS[group]!;
    const bits = bitsAt(characters, 2 * group);
    text[a] = HEX[bits >> 8]!;
    text[b] = HEX[(bits >> 4) & 15]!;
    text[c] = HEX[bits & 15]!;
  }
  const last = bitsAt(characters, 20);
  text[34] = HEX[last >> 8]!;
  text[35] = HEX[(last >> 4) & 15]!;
  return text.toString("latin1");
}

/** The twelve bits of two characters. */
function bitsAt(short: Uint8Array, at: number): number {
  return (CHARACTERS[short[at]!]! << 6) | CHARACTERS[short[at + 1]!]!;
}
