const IN_A_PROGRAM = "a Date, ";

/** What a point in time must be, in code. */
export const A_TIME = `${IN_A_PROGRAM}ISO 8601 text with a time zone, or milliseconds since the epoch`;

/** The same for text, over HTTP or in a terminal: a Date cannot be sent there. */
export function withoutDate(words: string): string {
  return words.replace(IN_A_PROGRAM, "");
}
