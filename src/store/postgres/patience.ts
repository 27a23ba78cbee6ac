import type { Row } from "./codec.ts";
import type { Connections, Manner, Sql } from "./connections.ts";
import { fateOf } from "./failures.ts";

/** A call of many items at once, some of which may be held by somebody else. */
export interface Request {
  /** How many items it has. One that is alone makes nobody wait but itself. */
  readonly items: number;
  /** `careful`: the call does not wait for rows that others hold, but leaves their items out. */
  readonly ask: (sql: Sql, careful: boolean) => Promise<Row[]>;
  /** Whether items were left out. */
  readonly leavesOut: (rows: Row[]) => boolean;
}

/**
 * Asks for many items at once. The first try waits a short while for rows that others hold, because most are held for a moment only. If that
 * was not enough it has done nothing, and from then on tries are careful: they do all but the items whose rows are still held. An item that is
 * alone is asked for again and again until the deadline, and never waits inside the server for long: it would keep a connection from others.
 */
export function waitOrLeaveOut(connections: Connections, request: Request, manner: Manner = {}): Promise<Row[]> {
  const { items, ask, leavesOut } = request;
  let isCareful = false;
  const tryIt = async (sql: Sql): Promise<Row[]> => {
    try {
      return await ask(sql, isCareful);
    } catch (error) {
      isCareful ||= fateOf(error) === "locked";
      throw error;
    }
  };
  return connections.run(tryIt, items === 1 ? { ...manner, isHeld: (rows) => leavesOut(rows as Row[]) } : manner);
}
