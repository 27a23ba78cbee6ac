/** WHETHER THE SERVER ANSWERS. Every request of the page goes through here, so that the page always says when its data is old. */
import { noteServerTime, serverNow } from "./server-time.ts";
import { Watched } from "./watched.ts";

export interface Connection {
  /** When the server last answered; null before the first answer. */
  readonly lastGoodAt: number | null;
  /** Why the latest request failed, as a sentence; null while requests succeed. */
  readonly trouble: string | null;
  /** Whether events arrive as they happen. */
  readonly isStreaming: boolean;
}

export const connection = new Watched<Connection>({ lastGoodAt: null, trouble: null, isStreaming: false });

const EVENTS = /\/api\/v1\/events$/;

/** Sends a request with the session's cookie, and notes how it went. */
export async function watchedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const isStream = typeof input === "string" && EVENTS.test(input);
  const sentAt = Date.now();
  try {
    const response = await fetch(input, { ...init, credentials: "same-origin", cache: "no-store" });
    noteServerTime(response.headers.get("date"), sentAt, Date.now());
    const stream = isStream ? { isStreaming: response.ok } : {};
    if (response.status >= 500) note({ trouble: `The server answers with status ${response.status}.`, ...stream });
    else note({ lastGoodAt: serverNow(), trouble: null, ...stream });
    return response;
  } catch (error) {
    // A stream that this page ended itself is no failure.
    if (!(isStream && init?.signal?.aborted === true)) note({ trouble: "The server cannot be reached.", isStreaming: false });
    throw error;
  }
}

/** Called when this page stops listening. A broken stream needs no call: it is opened again at once, which shows the state. */
export function noteStreamEnd(): void {
  note({ isStreaming: false });
}

function note(change: Partial<Connection>): void {
  connection.set({ ...connection.get(), ...change });
}
