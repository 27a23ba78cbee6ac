/** THE API, as everybody has it: the remote client. */
import { createRemoteClient, type RemoteOptions } from "../http/remote-client.ts";
import { watchedFetch } from "./connection.ts";
import { API_URL } from "./places.ts";
import { storedKey } from "./session.ts";
import type { Client } from "./shapes.ts";

export type * from "./shapes.ts";

/** Shorter than a program would wait: somebody looks at the page meanwhile. */
const DEADLINE_MS = 8000;

const clock: RemoteOptions["clock"] = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, ms) {
    // A timer that is longer than a browser can count is set again by whoever waits so long; nobody here does.
    const timer = window.setTimeout(callback, Math.min(ms, 2 ** 31 - 1));
    return { cancel: () => window.clearTimeout(timer) };
  },
};

/** The client of this page. */
export const client: Client = createRemoteClient({
  url: API_URL.href,
  apiKey: storedKey(),
  clock,
  random: Math.random,
  deadlineMs: DEADLINE_MS,
  fetch: watchedFetch,
});
