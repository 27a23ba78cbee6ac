/** A call that came over Node's own server, without a Request and a Response. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import type { Answer, BodyHolder, Call } from "./call.ts";
import { bodyReadBefore, cutOff, readLength, tooLarge } from "./body-rules.ts";
import { originalOf } from "./mount/place.ts";

export class NodeCall implements Call {
  readonly search: string;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: Writable;
  #ending: AbortController | null = null;

  constructor(incoming: IncomingMessage, outgoing: Writable, search: string) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.search = search;
  }

  get method(): string {
    return this.#incoming.method ?? "GET";
  }

  get original(): unknown {
    return originalOf(this.#incoming);
  }

  get address(): string | null {
    return this.#incoming.socket.remoteAddress ?? null;
  }

  get signal(): AbortSignal {
    if (this.#ending === null) {
      const ending = new AbortController();
      const outgoing = this.#outgoing;
      if (outgoing.destroyed) ending.abort();
      else outgoing.once("close", () => outgoing.writableFinished || ending.abort());
      this.#ending = ending;
    }
    return this.#ending.signal;
  }

  header(name: string): string | null {
    const value = this.#incoming.headers[name];
    return value === undefined ? null : typeof value === "string" ? value : value.join(", ");
  }

  readBody(maxBytes: number, holder: BodyHolder): Promise<Uint8Array | null> {
    const length = this.header("content-length");
    const bytes = length === null ? null : readLength(length, maxBytes);
    if (bytes === 0) return Promise.resolve(null);
    const before = bodyReadBefore(this.#incoming, maxBytes, holder);
    if (before !== undefined) return Promise.resolve(before);
    // The caller disconnected during an earlier check: no event will follow.
    if (this.#incoming.destroyed) return Promise.reject(cutOff());
    if (bytes !== null) holder.hold(bytes);
    return new Promise((resolve, reject) => {
      const incoming = this.#incoming;
      let first: Uint8Array | null = null;
      let more: Uint8Array[] | null = null;
      let size = 0;
      let isOver = false;
      incoming.on("data", (chunk: Uint8Array) => {
        // A body without Content-Length may never end.
        if (bytes === null && !isOver) isOver = !takes(chunk.byteLength);
        if (isOver) return;
        if (first === null) first = chunk;
        else (more ??= [first]).push(chunk);
      });
      incoming.on("end", () => {
        isOver = true;
        resolve(more === null ? first : Buffer.concat(more));
      });
      // Also comes after an error. After a whole body, "end" came first.
      incoming.on("close", () => {
        if (!isOver) reject(cutOff());
      });

      function takes(next: number): boolean {
        size += next;
        try {
          if (size > maxBytes) throw tooLarge(maxBytes);
          holder.hold(next);
          return true;
        } catch (error) {
          reject(error instanceof Error ? error : cutOff());
          return false;
        }
      }
    });
  }
}

/** Writes an answer with a text body. Pure ASCII, the usual case, is written without encoding. */
export function writeAnswer(outgoing: ServerResponse, { status, headers, body }: Answer): void {
  if (outgoing.destroyed) return;
  const text = (body as string | null) ?? "";
  const bytes = Buffer.byteLength(text);
  if (body !== null) headers["Content-Length"] = String(bytes);
  outgoing.writeHead(status, headers);
  outgoing.end(text, bytes === text.length ? "latin1" : "utf8");
}
