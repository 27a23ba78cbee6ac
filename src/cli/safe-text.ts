/**
 * TEXT THAT IS SAFE TO PRINT. Types, errors and payloads come from anyone who may enqueue, and a terminal obeys what it prints: an escape
 * sequence could clear the screen, change the title or write to the clipboard; a bidi control could show a command in another order than
 * the one in which it runs.
 */
import { prettyJson, stringifyJson } from "../core/json-text.ts";

/** Controls (C0, DEL, C1), line and paragraph separators, and everything that changes the direction of writing. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]|[\ud800-\udfff]/gu;

/** One line; all that a terminal would obey is written as an escape. */
export function safeLine(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** Several lines: line ends stay, and tabs become two spaces. */
export function safeLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => safeLine(line.replaceAll("\t", "  ")));
}

/** JSON on one line. Characters that JSON does not escape (C1, bidi) are escaped too, so the value is still exact. */
export function safeJson(value: unknown): string {
  return safeLine(stringifyJson(value));
}

/** The same on several lines, for people. */
export function safePrettyJson(value: unknown): string[] {
  return prettyJson(value).split("\n").map(safeLine);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
