const IN_A_PROGRAM = "a Date, ";

/** What a point in time must be, in a program. */
export const A_TIME = `${IN_A_PROGRAM}ISO 8601 text with a time zone, or milliseconds since the epoch`;

/** The same words for those who write text, over HTTP or in a terminal: nobody can send a Date there. */
export function withoutDate(words: string): string {
  return words.replace(IN_A_PROGRAM, "");
}
