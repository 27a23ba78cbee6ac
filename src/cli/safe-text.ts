/**
 * TEXT THAT IS SAFE TO PRINT. Types, errors and payloads come from whoever may enqueue. A terminal obeys what it is shown: an escape
 * sequence in an error message could clear the screen, change the title or write to the clipboard, and a bidi control could show a command
 * in another order than the one in which it runs.
 */
import { prettyJson, stringifyJson } from "../core/json-text.ts";

/** Controls (C0, DEL, C1), line and paragraph separators, and everything that changes the direction of writing. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]|[\ud800-\udfff]/gu;

/** One line, with all that a terminal would obey written out as an escape. */
export function safeLine(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** Several lines: line ends stay, and tabs become two spaces. */
export function safeLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => safeLine(line.replaceAll("\t", "  ")));
}

/** JSON on one line that is as safe as it is exact: what JSON leaves as it is (C1, bidi) is written as an escape too. */
export function safeJson(value: unknown): string {
  return safeLine(stringifyJson(value));
}

/** The same over several lines, for people. */
export function safePrettyJson(value: unknown): string[] {
  return prettyJson(value).split("\n").map(safeLine);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
