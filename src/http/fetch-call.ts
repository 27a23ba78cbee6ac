/** A call that came as a Request, and its answer as a Response. */
import type { Answer, BodyHolder, Call } from "./call.ts";
import { WireError } from "./problem.ts";

/** What servers that know the socket pass to a fetch handler besides the request. */
interface SocketEnv {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } };
}

export class FetchCall implements Call {
  readonly #request: Request;
  readonly #env: SocketEnv | undefined;

  constructor(request: Request, env: unknown) {
    this.#request = request;
    this.#env = env as SocketEnv | undefined;
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

export function readLength(length: string, maxBytes: number): number {
  const bytes = Number(length);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new WireError("malformed_request", "Content-Length is not a number of bytes");
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

export function tooLarge(maxBytes: number): WireError {
  return new WireError("body_too_large", `the body must have at most ${maxBytes} bytes on this route`);
}

export function cutOff(): WireError {
  return new WireError("malformed_request", "the body ended before it was complete");
}

export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body, { status, headers });
}
