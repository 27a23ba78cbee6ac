/** How many columns a text takes on a terminal, and how to make it fit. */

const ASCII = /^[\u0020-\u007e]*$/;
/** Characters of two columns: East Asian wide and full-width ones, and emoji that are shown as pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const NO_WIDTH = /^[\p{Mark}\p{Format}]+$/u;

let segmenter: Intl.Segmenter | null = null;

function graphemes(text: string): string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

function widthOfGrapheme(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Columns that a text without controls takes. */
export function textWidth(text: string): number {
  return ASCII.test(text) ? text.length : graphemes(text).reduce((width, grapheme) => width + widthOfGrapheme(grapheme), 0);
}

/** Cuts the text to `width` columns; a text that was cut ends with the mark. */
export function cutToWidth(text: string, width: number, mark: string): string {
  if (textWidth(text) <= width) return text;
  const room = width - textWidth(mark);
  if (room < 0) return "";
  let used = 0;
  let kept = "";
  for (const grapheme of graphemes(text)) {
    used += widthOfGrapheme(grapheme);
    if (used > room) break;
    kept += grapheme;
  }
  return kept + mark;
}

/** Cuts the text to `width` columns, and leaves its beginning and its end: names of types and hosts differ at both. */
export function cutInMiddle(text: string, width: number, mark: string): string {
  if (textWidth(text) <= width) return text;
  const room = width - textWidth(mark);
  if (room < 2) return cutToWidth(text, width, mark);
  const atEnd = Math.floor(room / 2);
  const reversed = graphemes(text).reverse().join("");
  const end = graphemes(cutToWidth(reversed, atEnd, ""))
    .reverse()
    .join("");
  return cutToWidth(text, room - textWidth(end), "") + mark + end;
}

/** The text in lines of at most `width` columns, broken at spaces where there are some. */
export function wrapToWidth(text: string, width: number): string[] {
  if (textWidth(text) <= width) return [text];
  const lines = [""];
  for (const word of text.split(" ").flatMap((each) => pieces(each, width))) {
    const line = lines.at(-1)!;
    const longer = line === "" ? word : `${line} ${word}`;
    if (textWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** A word that is wider than a line, in pieces. */
function pieces(word: string, width: number): string[] {
  const head = cutToWidth(word, width, "");
  return head === word || head === "" ? [word] : [head, ...pieces(word.slice(head.length), width)];
}

export function padToWidth(text: string, width: number, align: "left" | "right" = "left"): string {
  const spaces = " ".repeat(Math.max(0, width - textWidth(text)));
  return align === "left" ? text + spaces : spaces + text;
}
