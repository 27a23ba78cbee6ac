import type { DriverClient } from "./driver.ts";
import { fateOf } from "./failures.ts";

/** How long a statement waits for what others hold, and a transaction for the next word of its client. */
export const LOCK_TIMEOUT = "5s";
export const IDLE_TIMEOUT = "5s";

/**
 * What holds for every session of ours on the server. Our calls are single statements that wait for nobody for long. These are for the rest: a
 * process that stops between two statements of a migration, a machine that vanishes without a word. Whatever it holds is free again within
 * seconds, and not when the system's own keepalive gives up, after two hours.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  lock_timeout: LOCK_TIMEOUT,
  idle_in_transaction_session_timeout: IDLE_TIMEOUT,
  tcp_keepalives_idle: "10",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3",
  tcp_user_timeout: "25s",
};

/**
 * In: the number of the server's process, as it was told when the connection was made. Behind a pooler that hands sessions from one client to
 * the next it is another: there a setting would stay behind for strangers, so nothing is set.
 */
const SET = `select ${Object.entries(SETTINGS)
  .map(([name, value]) => `set_config('${name}', '${value}', false)`)
  .join(", ")} where pg_backend_pid() = $1`;

/** How long the server may take for it; a connection that says nothing is no connection. */
const PATIENCE_MS = 4_000;

/** Settles a session that was just opened, before anything else is asked on it. Rejects if the connection is of no use. */
export async function settleSession(client: DriverClient): Promise<void> {
  if (typeof client.processID !== "number") return;
  const timer = setTimeout(() => destroySocket(client), PATIENCE_MS);
  try {
    await client.query({ text: SET, values: [client.processID], rowMode: "array" });
  } catch (error) {
    // A server that does not let us set these can be worked with.
    if (fateOf(error) !== "refused") throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Ends a connection without a goodbye, for which one into the void would wait for ever. */
export function destroySocket(client: DriverClient): void {
  (client as { connection?: { stream?: { destroy?: () => void } } }).connection?.stream?.destroy?.();
}
