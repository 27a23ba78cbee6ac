import type { StateOrder } from "../../core/list-order.ts";
import { comesBefore, type Place } from "../state-order.ts";

/** A part of an index that is sorted by itself: reads its next places after one, up to `limit`. Fewer are the last. */
export type Line<At extends Place> = (after: Place, limit: number) => At[];

/**
 * The places of all lines in order, from after one on. Lines are merged while they are read: each is read as far as it is needed.
 * Cost: one read of every line, and for each place a look at the lines that have places left. A line without any is dropped at once: of
 * thousands of queues, few may have what is wanted.
 */
export function* mergedLines<At extends Place>(given: readonly Line<At>[], order: StateOrder | null, start: Place): Generator<At> {
  // Few sizes, because each may be a statement of its own.
  const atOnce = given.length > 30 ? 16 : given.length > 3 ? 64 : 256;
  const headOf = (line: OpenLine<At>): At | undefined => {
    if (line.given === line.places.length && !line.isRead) {
      line.places = line.read(line.places.at(-1) ?? start, atOnce);
      line.given = 0;
      line.isRead = line.places.length < atOnce;
    }
    return line.places[line.given];
  };
  let lines = given.map((read): OpenLine<At> => ({ read, places: [], given: 0, isRead: false }));
  lines = lines.filter((line) => headOf(line) !== undefined);
  while (lines.length > 0) {
    const first = lines.reduce((best, line) => (comesBefore(order, headOf(line)!, headOf(best)!) ? line : best));
    yield headOf(first)!;
    first.given++;
    if (headOf(first) === undefined) lines = lines.filter((line) => line !== first);
  }
}

interface OpenLine<At extends Place> {
  readonly read: Line<At>;
  /** What the last read found, and how many of these were given. */
  places: At[];
  given: number;
  /** Whether these are its last ones. */
  isRead: boolean;
}
