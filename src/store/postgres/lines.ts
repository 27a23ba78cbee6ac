/** The numbers and marks of lines of limit keys: see limit-tables.ts. */

/** Where a line stands. A released number never changes: rows have it. */
export const PLACE = { idle: 0, ring: 1, parked: 2, asleep: 3 } as const;

/** Ends the type of a lane whose jobs have a limit key. No type can have it: see NAME in core/read-fields.ts. */
export const KEYED_MARK = "~";

/** Stands for the jobs without a limit key, and for the queue itself. No limit key is empty. */
export const NO_KEY = "";

/** The `turn` of a new pending job that its insert put in line. Any other one that becomes pending is put in line by a trigger. */
export const IN_LINE = 0;

/** The `turn` of a job that was suspended, until its next claim: that one takes no units of a rate. */
export const RESUMED = -1;

/** The `turn` of a running job whose claim took none, made of that of the claim: all below RESUMED. So none are given back. */
export const freeTurn = (turn: string): string => `${RESUMED - 1} - ${turn}`;

/** When to ask again if others held what may start. */
export const BUSY_MS = 5;
