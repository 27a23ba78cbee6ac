/** Texts of several lines and JSON, safe to print: see core/safe-line.ts. */
import { prettyJson, stringifyJson } from "../core/json-text.ts";
import { safeLine } from "../core/safe-line.ts";

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
