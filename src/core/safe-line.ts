/**
 * TEXT THAT IS SAFE TO PRINT. Types, errors and payloads come from anyone who may enqueue, and a terminal obeys what it prints: an escape
 * sequence could clear the screen, change the title or write to the clipboard; a bidi control could show a command in another order than
 * the one in which it runs.
 */

/** Controls (C0, DEL, C1), line and paragraph separators, and everything that changes the direction of writing. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]|[\ud800-\udfff]/gu;

/** One line; all that a terminal would obey is written as an escape. */
export function safeLine(text: string): string {
  return text.replace(UNSAFE, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
