import { randomFillSync } from "node:crypto";

/**
 * UUIDv7 (RFC 9562): 48 bits of time, 12 bits of a counter, 10 bits that the caller gives, 52 random bits. Ids of one maker rise strictly,
 * also within a millisecond and when the clock steps back, so that they can order what one process made.
 */
export function idMaker(now: () => number, fill: (bytes: Uint8Array) => void = randomFillSync): (tenBits: number) => string {
  const pool = new Uint8Array(7 * 512);
  let used = pool.length;
  let time = 0;
  let counter = 0;
  let timePrefix = "";

  return function nextId(tenBits: number): string {
    advance();
    if (used === pool.length) {
      fill(pool);
      used = 0;
    }
    const at = used;
    used += 7;
    // Variant 10, then the ten bits, then 4 + 48 random ones.
    const high = 0x8000 | ((tenBits & 0x3ff) << 4) | (pool[at]! & 0x0f);
    return (
      timePrefix +
      (0x7000 | counter).toString(16) +
      "-" +
      high.toString(16) +
      "-" +
      HEX[pool[at + 1]!] +
      HEX[pool[at + 2]!] +
      HEX[pool[at + 3]!] +
      HEX[pool[at + 4]!] +
      HEX[pool[at + 5]!] +
      HEX[pool[at + 6]!]
    );
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
      time++; // 4,096 ids in one millisecond: borrow the next
      counter = 0;
    }
    const hex = time.toString(16).padStart(12, "0");
    timePrefix = `${hex.slice(0, 8)}-${hex.slice(8)}-`;
  }
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isId(value: unknown): value is string {
  return typeof value === "string" && UUID_V7.test(value);
}

/** The ten bits that were given when the id was made. */
export function tenBitsOf(id: string): number {
  return (Number.parseInt(id.slice(19, 23), 16) >> 4) & 0x3ff;
}
