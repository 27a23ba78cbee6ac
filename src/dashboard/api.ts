/** THE CLIENT of this page: the same remote client that everybody has. */
import { createRemoteClient, type RemoteOptions } from "../http/remote-client.ts";
import { watchedFetch } from "./connection.ts";
import { API_URL } from "./places.ts";
import { storedKey } from "./session.ts";
import type { Client } from "./shapes.ts";

export type * from "./shapes.ts";

/** Short, because somebody waits in front of the page. */
const DEADLINE_MS = 8000;

const clock: RemoteOptions["clock"] = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, ms) {
    // Browsers cannot count further. Nothing here waits so long.
    const timer = window.setTimeout(callback, Math.min(ms, 2 ** 31 - 1));
    return { cancel: () => window.clearTimeout(timer) };
  },
};

export const client: Client = createRemoteClient({
  url: API_URL.href,
  apiKey: storedKey(),
  clock,
  random: Math.random,
  deadlineMs: DEADLINE_MS,
  fetch: watchedFetch,
});
