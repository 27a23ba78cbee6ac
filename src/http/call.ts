/**
 * A CALL AND ITS ANSWER, as the routes see them. Where a call comes from is not their concern: a fetch handler that is mounted somewhere, or
 * Node's own server.
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
