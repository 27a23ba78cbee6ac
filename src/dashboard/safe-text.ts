/** TEXT THAT OTHERS STORED. What would not be seen, or would turn the order of what is seen, is written out as an escape. */

/** Controls but for tab and line feed, marks of direction and isolation, joiners, line separators, and halves of pairs. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text with what is unseen written as `\u202e`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
