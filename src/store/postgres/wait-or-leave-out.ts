import type { Row } from "./codec.ts";
import type { CallOptions, Connections, Sql } from "./connections.ts";
import { failureOf } from "./failures.ts";

/** A call with many items, some of which others may hold. */
export interface Request {
  /** How many items it has. A single one delays only itself. */
  readonly items: number;
  /** Somebody waits behind this call: a single item that others hold is left out, too. */
  readonly leavesHeld?: boolean | undefined;
  /** `careful`: the call does not wait for rows that others hold, but leaves out their items. */
  readonly ask: (sql: Sql, careful: boolean) => Promise<Row[]>;
  readonly leavesOut: (rows: Row[]) => boolean;
}

/**
 * Asks for many items at once. The first try waits a short while for rows that others hold, because most are held only for a moment. If
 * that is not enough it has done nothing, and further tries are careful: they leave out the items whose rows are still held. A single item
 * is tried until the deadline, unless the request `leavesHeld`, and never waits long inside the server: it would keep a connection from others.
 */
export function waitOrLeaveOut(connections: Connections, request: Request, callOptions: CallOptions = {}): Promise<Row[]> {
  const { items, ask, leavesOut, leavesHeld = false } = request;
  let isCareful = false;
  const tryIt = async (sql: Sql): Promise<Row[]> => {
    try {
      return await ask(sql, isCareful);
    } catch (error) {
      isCareful ||= failureOf(error) === "locked";
      throw error;
    }
  };
  return connections.run(tryIt, items === 1 && !leavesHeld ? { ...callOptions, isHeld: (rows) => leavesOut(rows as Row[]) } : callOptions);
}
