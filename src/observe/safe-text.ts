/** Text of others, made safe for a log. */

/** Characters that JSON allows but a terminal may interpret: DEL, C1 control characters, marks of text direction, unusual line breaks. */
const DANGEROUS = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const ALL_DANGEROUS: RegExp = new RegExp(DANGEROUS, "g");

/** A line of JSON with such characters as escapes, which parse to the same. They can only occur inside strings. */
export function escapeJsonLine(line: string): string {
  return DANGEROUS.test(line) ? line.replace(ALL_DANGEROUS, escape) : line;
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const CREDENTIALS = /\/\/([^\s:@/?#]*):[^\s/?#]*@/g;

/** A text of bounded length without passwords in URLs: drivers often show the URL in their errors. */
export function safeText(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return cut.replace(CREDENTIALS, "//$1:***@");
}
