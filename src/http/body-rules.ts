/** WHAT BOTH KINDS OF CALL ASK OF A BODY. */
import type { BodyHolder } from "./call.ts";
import type { MountedRequest } from "./mount/place.ts";
import { WireError } from "./problem.ts";

export function readLength(length: string, maxBytes: number): number {
  const bytes = Number(length);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new WireError("malformed_request", "Content-Length is not a number of bytes");
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

/**
 * A body that the application has read, for example by a global `express.json()`: parsers leave it as `body` of the request. Null if it was
 * empty; undefined if nobody has read it yet. Numbers are what the application's parser made of them.
 */
export function bodyReadBefore(
  incoming: MountedRequest | undefined,
  maxBytes: number,
  holder: BodyHolder,
): Uint8Array<ArrayBuffer> | null | undefined {
  if (incoming === undefined || !(incoming.readableDidRead || incoming.readableEnded)) return undefined;
  const { body, readableDidRead } = incoming;
  if (body === undefined && !readableDidRead) return null;
  if (body === undefined)
    throw new WireError("malformed_body", "the application has read the body and did not leave it as `body` of the request");
  const bytes = Buffer.from(typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body));
  if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes);
  holder.hold(bytes.byteLength);
  return bytes;
}

export function tooLarge(maxBytes: number): WireError {
  return new WireError("body_too_large", `the body must have at most ${maxBytes} bytes on this route`);
}

export function cutOff(): WireError {
  return new WireError("malformed_request", "the body ended before it was complete");
}
