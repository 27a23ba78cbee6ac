import { randomFillSync } from "node:crypto";
import type { Clock } from "./clock.ts";
import { IdTags } from "./id-tags.ts";

/** Time and counter, ten bits of the caller and the variant, the tag, and the random rest, each at its place in the text. */
const TEMPLATE = "00000000-0000-7000-8000-000000000000";
const COUNTER_AT = 15;
const VARIANT_AT = 19;
const RANDOM_AT = 24;
const RANDOM_BYTES = 7;
const TAG_AT = 25;
const TAG_DIGITS = 3;

const DIGITS = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/**
 * UUIDv7 (RFC 9562): 48 bits of time, a 12-bit counter, 10 bits from the caller, 52 random bits. Ids of one maker always increase, even within
 * a millisecond and when the clock goes back, so they order what one process made.
 *
 * Twelve of the random bits are a tag: a maker keeps it for 4,000 ids with the same ten bits of the caller, then draws another. So a store
 * can keep together what was made together, and finds it by the id alone (see store/redis/keys.ts).
 *
 * The tag makes no collision likelier. Two ids can be equal only if two makers made them in the same millisecond, with the same counter and
 * the same ten bits; then tag and rest are 52 bits that the two drew apart, and are equal once in 2^52 times, as if all were new. Only the
 * rare cases come together: makers that have the same tag by chance risk 2^-40 with each such pair until one draws anew. What is at stake: a
 * store takes a known id for a repeat of the same job. A thousand processes that make an id each in every millisecond, all for one queue,
 * have half a million such pairs a millisecond: two of their ids are equal about once in 100 days. That is a million jobs a second in one
 * queue, several times what any of our engines can store; at a tenth of the rate it is once in 30 years.
 *
 * The digits are written into one buffer: joining pieces costs three times as much, and the same again at the first lookup, when V8 has to
 * flatten the string.
 */
export function idMaker(now: () => number, fill: (bytes: Uint8Array) => void = randomFillSync): (tenBits: number) => string {
  const text = Buffer.from(TEMPLATE, "latin1");
  const random = new Uint8Array(RANDOM_BYTES * 512);
  let used = random.length;
  let time = 0;
  let counter = 0;
  const tags = new IdTags();

  return function nextId(tenBits: number): string {
    advance();
    if (used === random.length) {
      fill(random);
      used = 0;
    }
    writeHex(text, COUNTER_AT, counter, 3);
    // Variant 10, then the ten bits, then the first four random ones.
    writeHex(text, VARIANT_AT, 0x8000 | ((tenBits & 0x3ff) << 4) | (random[used]! & 0x0f), 4);
    for (let index = 1; index < RANDOM_BYTES; index++) writeHex(text, RANDOM_AT + 2 * (index - 1), random[used + index]!, 2);
    writeHex(text, TAG_AT, tags.next(tenBits, (random[used + 1]! << 8) | random[used + 2]!), TAG_DIGITS);
    used += RANDOM_BYTES;
    return text.toString("latin1");
  };

  function advance(): void {
    const present = now();
    if (present > time) {
      time = present;
      counter = 0;
    } else if (counter < 0xfff) {
      counter++;
      return;
    } else {
      time++; // 4,096 ids in one millisecond: use the next one
      counter = 0;
    }
    text.write(time.toString(16).padStart(12, "0").replace(/^.{8}/, "$&-"), "latin1");
  }
}

const makers = new WeakMap<Clock, (tenBits: number) => string>();

/** One maker for each clock, so that ids increase within the process, not only within a client. The first caller gives its random bits. */
export function idMakerOf(clock: Clock, fill?: (bytes: Uint8Array) => void): (tenBits: number) => string {
  let maker = makers.get(clock);
  if (maker === undefined) makers.set(clock, (maker = idMaker(() => clock.now(), fill)));
  return maker;
}

function writeHex(text: Buffer, at: number, value: number, digits: number): void {
  for (let index = digits - 1; index >= 0; index--) {
    text[at + index] = DIGITS[value & 0x0f]!;
    value >>= 4;
  }
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isId(value: unknown): value is string {
  return typeof value === "string" && UUID_V7.test(value);
}

/** The ten bits from the caller. */
export function tenBitsOf(id: string): number {
  return (Number.parseInt(id.slice(19, 23), 16) >> 4) & 0x3ff;
}

/** Whether two ids have the same ten bits. They are in three digits, together with the variant, which all ids share. */
export function haveSameTenBits(one: string, other: string): boolean {
  for (let at = VARIANT_AT; at < VARIANT_AT + 3; at++) if (one.charCodeAt(at) !== other.charCodeAt(at)) return false;
  return true;
}
