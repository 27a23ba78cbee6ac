/**
 * A CALL AND ITS ANSWER, as the routes see them. Calls arrive in two ways:
 *
 *   fetch-call   a Request, as Hono, Next.js, Bun and others pass it to a mounted server; for every route
 *   node-call    Node's own request, for routes with a fixed path. It makes no Request and Response: POST /api/v1/jobs takes 117 µs of
 *                CPU instead of 165 (best of three rounds of 8,000 requests). That is why there are two ways.
 */

export interface Call {
  readonly method: string;
  /** What follows the question mark in the URL, as it was sent. */
  readonly search: string;
  header(name: string): string | null;
  /** Whether it asks for a WebSocket. Browsers let any page open one and read it, so its origin is checked. */
  readonly isUpgrade?: boolean | undefined;
  /** The request as the application's own handlers get it. */
  readonly original: unknown;
  /** The peer address of the socket; null if unknown. */
  readonly address: string | null;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Reads the whole body, or throws `body_too_large`. Null: there is none. Reserves its bytes with `holder` first. */
  readBody(maxBytes: number, holder: BodyHolder): Promise<Uint8Array | null>;
}

/** Limits how many bytes of bodies are in memory. */
export interface BodyHolder {
  /** Throws if they do not fit. */
  hold(bytes: number): void;
}

/** An answer. Its headers are not shared: the writer may add some. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;
}
