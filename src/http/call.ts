/**
 * A CALL AND ITS ANSWER, as the routes see them. There are two ways in, which end here, and what follows is one way:
 *
 *   fetch-call   a Request: what Hono, Next.js, Bun and others hand to a mounted server, for every route
 *   node-call    Node's own request, for routes with a fixed path. No Request and Response are made for it: POST /api/v1/jobs then takes
 *                117 µs of CPU instead of 165 (the best of three rounds, 8,000 requests each). That is why there are two.
 */

/** A request. */
export interface Call {
  readonly method: string;
  /** What follows the question mark, as it was sent. */
  readonly search: string;
  header(name: string): string | null;
  /** Whether it asks for a WebSocket: then a page of anywhere could have sent it, and would hear what it is told. */
  readonly isUpgrade?: boolean | undefined;
  /** Whose socket it is; null where that is not known. */
  readonly address: string | null;
  /** Aborts when the caller hung up. */
  readonly signal: AbortSignal;
  /** Reads the whole body, or throws `body_too_large`. Null: there is none. Room for it is asked of `holder` before it is read. */
  readBody(maxBytes: number, holder: BodyHolder): Promise<Uint8Array | null>;
}

/** Who has room for the bytes of a body. */
export interface BodyHolder {
  /** Throws when there is none. */
  hold(bytes: number): void;
}

/** An answer. Its headers are its own: whoever writes it may add some. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;
}
