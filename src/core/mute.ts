/** MUTED ERROR GROUPS: known errors that shall raise no alarm, for a while or until somebody unmutes them. Their jobs stay dead letters. */
import { type Duration, formatDuration } from "./duration.ts";
import type { Actor, ChangeOptions } from "./manual-change.ts";
import { readDuration } from "./read-fields.ts";
import { DAY_MS } from "./time-units.ts";

/** How many a store keeps: the latest. */
export const MAX_MUTES = 1000;

const MIN_MUTE_MS = 1000;
const MAX_MUTE_MS = 365 * DAY_MS;
export const MUTE_RULE = `a time from ${formatDuration(MIN_MUTE_MS)} to ${formatDuration(MAX_MUTE_MS)}, such as "24h"`;

/** A muted error group: since when, by whom and why. */
export interface Mute extends Actor {
  readonly group: string;
  readonly at: number;
  /** Null: until somebody unmutes it. */
  readonly until: number | null;
}

/** For how long to mute an error group, who does it, and why. */
export interface MuteOptions extends ChangeOptions {
  /** 1 s to 365 days. Default: until somebody unmutes it. */
  readonly for?: Duration | undefined;
}

/** Reads for how long; null: until somebody unmutes it. Throws `invalid_input`. */
export function readMuteTime(time: unknown): number | null {
  return time === undefined || time === null ? null : readDuration(time, "for", MUTE_RULE, MAX_MUTE_MS, MIN_MUTE_MS);
}

/** The mutes that hold now, the latest first. */
export function livingMutes(mutes: Iterable<Mute>, now: number): Mute[] {
  const living = [...mutes].filter(({ until }) => until === null || until > now);
  return living.sort((a, b) => b.at - a.at || (a.group < b.group ? -1 : 1)).slice(0, MAX_MUTES);
}
