const encoder = new TextEncoder();
const decoder = new TextDecoder();
let scratch = new Uint8Array(4 * 1024);

/**
 * A text of at most `maxBytes` in UTF-8, cut between characters, with lone surrogates replaced (no store can keep them).
 *
 * A cut text is a copy: a slice would keep all of a 5 MB text in memory for its first 4 KiB.
 */
export function cutText(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= maxBytes) return text.toWellFormed();
  if (scratch.length < maxBytes) scratch = new Uint8Array(maxBytes);
  const { read, written } = encoder.encodeInto(text, scratch.subarray(0, maxBytes));
  return read === text.length ? text.toWellFormed() : decoder.decode(scratch.subarray(0, written));
}
