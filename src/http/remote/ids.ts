import { invalid } from "../../core/errors.ts";
import { IdTags } from "../../lib/id-tags.ts";

/**
 * Makes ids of jobs before the first try, so that a request whose answer was lost can be sent again. Like lib/id (UUIDv7: time, counter, ten
 * bits of the caller's, random with a tag), but it also runs in browsers.
 */
export function idMaker(now: () => number): (tenBits: number) => string {
  const random = new Uint8Array(7);
  const tags = new IdTags();
  let time = 0;
  let counter = 0;
  return (tenBits) => {
    const present = now();
    if (present > time) {
      time = present;
      counter = 0;
    } else if (++counter > 0xfff) {
      time++; // 4,096 ids in one millisecond: borrow the next
      counter = 0;
    }
    crypto.getRandomValues(random);
    const stamp = hex(time, 12);
    const variant = 0x8000 | ((tenBits & 0x3ff) << 4) | (random[0]! & 0x0f);
    const [first, ...rest] = Array.from(random.subarray(1), (byte) => hex(byte, 2)).join("");
    const tag = hex(tags.next(tenBits, (random[1]! << 8) | random[2]!), 3);
    return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${hex(counter, 3)}-${hex(variant, 4)}-${first}${tag}${rest.slice(3).join("")}`;
  };
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** An id goes into the path: an invalid one could match another route. */
export function readId(id: unknown): string {
  if (typeof id !== "string" || !UUID_V7.test(id)) throw invalid("id", "the id of a job, a UUIDv7 in lower case", id);
  return id;
}
