import { createHash } from "node:crypto";

const LENGTH = 12;

/** A short stand-in for a text that is too long to write down: the same text, the same print. */
export function printOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, LENGTH);
}

/** Of a request: its type and its payload as JSON text. */
export function printOfJob(type: string, payload: string): string {
  return printOf(`${type}\n${payload}`);
}
