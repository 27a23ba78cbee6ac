/**
 * SIMILAR ERRORS. One cause can kill thousands of jobs with messages that differ only in ids, counts and names. A fingerprint of what is the
 * same puts them in one group. The transition that stores the error calculates it once.
 */
import { invalid } from "./errors.ts";
import type { AttemptError, JobError } from "./job.ts";

/** The format of a fingerprint. */
export const GROUP: RegExp = /^[0-9a-f]{12}$/;

/** Reads the id of an error group. Throws `invalid_input`. */
export function readGroup(input: unknown): string {
  if (typeof input !== "string" || !GROUP.test(input)) throw invalid("group", "the id of an error group: 12 hexadecimal digits", input);
  return input;
}

/** The longest text by which a group is named, and how much of its end is kept: a path or an id often ends with what tells two errors apart. */
const MAX_WORDS = 100;
const WORDS_AT_END = 30;

/** What people call a group: the name of the error and the first line of its message, cut in the middle. */
export function groupWords({ name, message }: Pick<JobError, "name" | "message">): string {
  const [first = ""] = message.trim().split("\n", 1);
  const words = first === "" ? name : `${name}: ${first.trim()}`;
  const letters = Array.from(words);
  if (letters.length <= MAX_WORDS) return words;
  return `${letters.slice(0, MAX_WORDS - WORDS_AT_END - 1).join("")}…${letters.slice(-WORDS_AT_END).join("")}`;
}

/** The part of a message that identifies its cause comes early, and a long message must not cost more than this. */
const MAX_NAME = 100;
const MAX_MESSAGE = 500;

export function withGroup({ name, message, stack, kind, version }: AttemptError): JobError {
  return { group: errorGroup(name, message), name, message, stack, kind, ...(version === undefined ? {} : { version }) };
}

/** The fingerprint of an error: equal if name and message differ only in numbers, ids and quoted texts. */
export function errorGroup(name: string, message: string): string {
  // Cut again after numbers are replaced: their length must not decide where the text ends.
  return hash48(`${name.slice(0, MAX_NAME)}\n${normalised(message.slice(0, 4 * MAX_MESSAGE)).slice(0, MAX_MESSAGE)}`);
}

/** Linear in a text of bounded length: no pattern can match a place in more than one way. */
function normalised(message: string): string {
  return message
    .replace(/"[^"]*"|`[^`]*`|(?<!\w)'[^']*'(?!\w)/g, "…")
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "#")
    .replace(/\b(?:0x[0-9a-f]+|(?=[a-f]*[0-9])[0-9a-f]{8,})\b/gi, "#")
    .replace(/[0-9]+(?:[.,:][0-9]+)*/g, "#")
    .replace(/\s+/g, " ")
    .trim();
}

/** Two FNV-1a hashes with a final mix, 24 bits of each. */
function hash48(text: string): string {
  let one = 0x811c9dc5;
  let two = 0x9747b28c;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    one = Math.imul(one ^ unit, 0x01000193);
    two = Math.imul(two ^ unit, 0x85ebca6b);
  }
  return digits(mixed(one)) + digits(mixed(two ^ one));
}

function mixed(hash: number): number {
  const first = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return (second ^ (second >>> 16)) & 0xff_ffff;
}

function digits(hash: number): string {
  return hash.toString(16).padStart(6, "0");
}
