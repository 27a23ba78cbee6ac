import type { DriverClient } from "./driver.ts";
import { failureOf } from "./failures.ts";

/** How long a statement waits for a lock, and a transaction for its client's next statement. */
export const LOCK_TIMEOUT = "5s";
export const IDLE_TIMEOUT = "5s";

/**
 * The settings of our sessions. Our calls are single statements that never wait long. These settings are for the rest: a process that stops
 * in the middle of a migration, a machine that vanishes. Its locks are then released within seconds, not when the system's own keepalive
 * gives up after two hours.
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
 * In: the backend process id from when the connection was made. Behind a pooler that shares sessions it differs: there a setting would stay
 * for other clients, so nothing is set.
 */
const SET = `select ${Object.entries(SETTINGS)
  .map(([name, value]) => `set_config('${name}', '${value}', false)`)
  .join(", ")} where pg_backend_pid() = $1`;

/** How long the server may take; after that the connection is destroyed. */
const PATIENCE_MS = 4_000;

/** Applies our settings to a new session, before any other statement. Rejects if the connection is unusable. */
export async function configureSession(client: DriverClient): Promise<void> {
  if (typeof client.processID !== "number") return;
  const timer = setTimeout(() => destroySocket(client), PATIENCE_MS);
  try {
    await client.query({ text: SET, values: [client.processID], rowMode: "array" });
  } catch (error) {
    // A server that refuses these settings can still be used.
    if (failureOf(error) !== "refused") throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Ends a connection without waiting for the server, which may never answer. */
export function destroySocket(client: DriverClient): void {
  (client as { connection?: { stream?: { destroy?: () => void } } }).connection?.stream?.destroy?.();
}
