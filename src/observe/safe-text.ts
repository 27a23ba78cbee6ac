/** What a log may say of what others wrote. */

/**
 * Characters that JSON lets stand and a terminal or an editor may take for something else: DEL and the second set of control characters,
 * marks that turn the direction of text, and line breaks that only some know as such.
 */
const DANGEROUS = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const ALL_DANGEROUS: RegExp = new RegExp(DANGEROUS, "g");

/** A line of JSON with such characters written as escapes, which mean the same to who parses it. They can only be inside of texts. */
export function escapeJsonLine(line: string): string {
  return DANGEROUS.test(line) ? line.replace(ALL_DANGEROUS, escape) : line;
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const CREDENTIALS = /\/\/([^\s:@/?#]*):[^\s/?#]*@/g;

/** A text of bounded length, without the passwords of URLs: errors of drivers like to show where they could not connect. */
export function safeText(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return cut.replace(CREDENTIALS, "//$1:***@");
}
