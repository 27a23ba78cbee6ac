/** A call that came as a Request, and its answer as a Response. */
import { bodyReadBefore, cutOff, readLength, tooLarge } from "./body-rules.ts";
import type { Answer, BodyHolder, Call } from "./call.ts";
import { type FetchEnv, originalOf } from "./mount/place.ts";
import { WireError } from "./problem.ts";

export class FetchCall implements Call {
  readonly #request: Request;
  readonly #env: FetchEnv | undefined;

  constructor(request: Request, env: unknown) {
    this.#request = request;
    this.#env = env as FetchEnv | undefined;
  }

  get method(): string {
    return this.#request.method;
  }

  get search(): string {
    const { url } = this.#request;
    const start = url.indexOf("?");
    if (start === -1) return "";
    const end = url.indexOf("#", start);
    return url.slice(start + 1, end === -1 ? undefined : end);
  }

  get original(): unknown {
    const { incoming, isFromNode } = this.#env ?? {};
    return originalOf(isFromNode === true && incoming !== undefined ? incoming : this.#request);
  }

  get address(): string | null {
    return this.#env?.incoming?.socket?.remoteAddress ?? null;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  header(name: string): string | null {
    return this.#request.headers.get(name);
  }

  async readBody(maxBytes: number, holder: BodyHolder): Promise<Uint8Array | null> {
    const { incoming, isFromNode = false } = this.#env ?? {};
    // The application's own Request may have read ahead from Node's request, and then holds the body.
    const before = isFromNode ? bodyReadBefore(incoming, maxBytes, holder) : undefined;
    if (before !== undefined) return before;
    const length = this.header("content-length");
    try {
      if (length === null) return await this.#readUnknown(maxBytes, holder);
      const bytes = readLength(length, maxBytes);
      if (bytes === 0) return null;
      holder.hold(bytes);
      return new Uint8Array(await this.#request.arrayBuffer());
    } catch (error) {
      throw error instanceof WireError ? error : cutOff();
    }
  }

  /** A body without Content-Length may never end. */
  async #readUnknown(maxBytes: number, holder: BodyHolder): Promise<Uint8Array | null> {
    const { body } = this.#request;
    if (body === null) return null;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      holder.hold(chunk.byteLength);
      chunks.push(chunk);
    }
    return size === 0 ? null : Buffer.concat(chunks);
  }
}

export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body, { status, headers });
}
