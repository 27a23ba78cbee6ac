/** WHETHER THE SERVER ANSWERS. Every request of the page goes through here, so that the page never shows old figures in silence. */
import { Watched } from "./watched.ts";

/** What is known of the way to the server. */
export interface Connection {
  /** When the server last answered; null before the first answer. */
  readonly lastGoodAt: number | null;
  /** Why the latest request failed; null while they succeed. */
  readonly trouble: string | null;
  /** Whether news come in as they happen. */
  readonly isStreaming: boolean;
}

/** The connection of this page. */
export const connection = new Watched<Connection>({ lastGoodAt: null, trouble: null, isStreaming: false });

const EVENTS = /\/api\/v1\/events$/;

/** Sends a request with the session's cookie, and notes how it went. */
export async function watchedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const isStream = typeof input === "string" && EVENTS.test(input);
  try {
    const response = await fetch(input, { ...init, credentials: "same-origin", cache: "no-store" });
    const stream = isStream ? { isStreaming: response.ok } : {};
    if (response.status >= 500) note({ trouble: `it answers ${response.status}`, ...stream });
    else note({ lastGoodAt: Date.now(), trouble: null, ...stream });
    return response;
  } catch (error) {
    // A stream that this page ended itself is no trouble.
    if (!(isStream && init?.signal?.aborted === true)) note({ trouble: "it cannot be reached", isStreaming: false });
    throw error;
  }
}

/** This page listens no more. A stream that breaks is opened again at once, and found to be away or not by that. */
export function noteStreamEnd(): void {
  note({ isStreaming: false });
}

function note(change: Partial<Connection>): void {
  connection.set({ ...connection.get(), ...change });
}
