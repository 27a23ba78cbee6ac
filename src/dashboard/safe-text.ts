/** TEXT FROM OTHERS. Characters that are invisible, or that change the order of others, are shown as escapes. */

/** Controls except tab and line feed, marks of direction and isolation, joiners, line separators, and lone surrogates. */
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text with invisible characters written like `\u202e`. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
