/**
 * Ids in the store are 22 characters of base64url: as small as 16 bytes, because of the allocator's size classes, and readable in
 * redis-cli. Three hex digits of the id are two characters; the last two digits are two more.
 */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const PAIRS: readonly string[] = Array.from({ length: 4096 }, (_, bits) => ALPHABET[bits >> 6]! + ALPHABET[bits & 63]!);
const TRIPLES: readonly string[] = Array.from({ length: 4096 }, (_, bits) => bits.toString(16).padStart(3, "0"));

const DIGITS = valuesOf("0123456789abcdef");
for (let digit = 10; digit < 16; digit++) DIGITS[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
const CHARACTERS = valuesOf(ALPHABET);

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

export function shortId(id: string): string {
  let short = "";
  for (let group = 0; group < 10; group++) {
    const [a, b, c] = GROUPS[group]!;
    short += PAIRS[(DIGITS[id.charCodeAt(a)]! << 8) | (DIGITS[id.charCodeAt(b)]! << 4) | DIGITS[id.charCodeAt(c)]!];
  }
  return short + PAIRS[(DIGITS[id.charCodeAt(34)]! << 8) | (DIGITS[id.charCodeAt(35)]! << 4)]!;
}

export function longId(short: Uint8Array): string {
  let digits = "";
  for (let at = 0; at < 20; at += 2) digits += TRIPLES[(CHARACTERS[short[at]!]! << 6) | CHARACTERS[short[at + 1]!]!];
  digits += TRIPLES[(CHARACTERS[short[20]!]! << 6) | CHARACTERS[short[21]!]!]!.slice(0, 2);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
}
