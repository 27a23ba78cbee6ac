import { timingSafeEqual } from "node:crypto";
import { type Duration, MAX_DELAY_MS } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { readDuration } from "../core/read-fields.ts";
import { MINUTE_MS } from "../core/time-units.ts";
import { ID_HEADER, readSecrets, SIGNATURE_HEADER, SIGNATURE_VERSION, signatureOf, TIMESTAMP_HEADER } from "./sign.ts";

/** A delivery that you received, and what to check it with. */
export interface ReceivedWebhook {
  /** The body as it arrived, before any parser: one changed space changes the signature. */
  readonly body: string | Uint8Array;
  /** The headers of the request: a `Headers`, or an object as in Node. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The shared secret; several while you replace it. */
  readonly secret: string | readonly string[];
  /** How far its time may be from now. Default 5 minutes. */
  readonly tolerance?: Duration | undefined;
  /** The current time, in milliseconds since the epoch. Default: the system's. */
  readonly now?: number | undefined;
}

/** A delivery with a valid signature. */
export interface VerifiedWebhook {
  /** The same for every attempt of one delivery: store it, so that you do nothing twice. */
  readonly id: string;
  /** When it was sent, in milliseconds since the epoch. */
  readonly sentAt: number;
  /** The parsed body. */
  readonly event: unknown;
}

const DEFAULT_TOLERANCE_MS = 5 * MINUTE_MS;
const MAX_HEADER_LENGTH = 4096;

/**
 * Checks that a delivery was signed recently with one of your secrets, and returns it. For anything else it throws `invalid_input` with the wrong
 * header as `field`: answer with 400 and do nothing.
 */
export function verifyWebhook(received: ReceivedWebhook): VerifiedWebhook {
  const { body, headers, secret, tolerance = DEFAULT_TOLERANCE_MS, now = Date.now() } = received;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw invalid("body", "the body as it arrived, a string or bytes, before it is parsed", body);
  }
  const keys = readSecrets(secret, "secret");
  const toleranceMs = readDuration(tolerance, "tolerance", 'a time in milliseconds or as "5m"', MAX_DELAY_MS);
  const id = readHeader(headers, ID_HEADER);
  const timestamp = readHeader(headers, TIMESTAMP_HEADER);
  const signatures = readHeader(headers, SIGNATURE_HEADER);
  refuseTime(timestamp, toleranceMs, now);
  if (!isSigned(keys, signatures, id, timestamp, body)) throw wrongSignature();
  return { id, sentAt: Number(timestamp) * 1000, event: parse(body) };
}

/** In constant time, every signature with every key: the duration reveals nothing about a difference. */
function isSigned(keys: readonly Buffer[], signatures: string, id: string, timestamp: string, body: string | Uint8Array): boolean {
  const expected = keys.map((key) => signatureOf(key, id, timestamp, body));
  let fits = false;
  for (const part of signatures.split(" ")) {
    const [version, encoded = ""] = part.split(",", 2);
    const given = Buffer.from(encoded, "base64");
    for (const digest of expected) {
      if (version === SIGNATURE_VERSION && given.length === digest.length && timingSafeEqual(given, digest)) fits = true;
    }
  }
  return fits;
}

function readHeader(headers: ReceivedWebhook["headers"], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : findHeader(headers, name);
  if (typeof value !== "string" || value === "") {
    throw refusal(name, `${name} is missing: this is not a signed delivery, or a proxy dropped the header`);
  }
  if (value.length > MAX_HEADER_LENGTH) throw refusal(name, `${name} is longer than ${MAX_HEADER_LENGTH} characters`);
  return value;
}

function findHeader(headers: Exclude<ReceivedWebhook["headers"], Headers>, name: string): unknown {
  if (typeof headers !== "object" || headers === null) throw invalid("headers", "the headers of the request", headers);
  const key = Object.keys(headers).find((each) => each.toLowerCase() === name);
  const value = key === undefined ? undefined : headers[key];
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

function refuseTime(timestamp: string, toleranceMs: number, now: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) throw refusal(TIMESTAMP_HEADER, `${TIMESTAMP_HEADER} must be a time in seconds since the epoch`);
  const agoMs = now - Number(timestamp) * 1000;
  if (Math.abs(agoMs) <= toleranceMs) return;
  const distance = `${Math.round(Math.abs(agoMs) / 1000)} s ${agoMs > 0 ? "old" : "ahead of our time"}`;
  throw refusal(TIMESTAMP_HEADER, `${TIMESTAMP_HEADER} is ${distance}: somebody repeated an old delivery, or a clock is wrong`);
}

function parse(body: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString("utf8")) as unknown;
  } catch (error) {
    throw new MillraceError("invalid_input", "the body is signed, but not JSON", { field: "body", cause: error });
  }
}

function wrongSignature(): MillraceError {
  return refusal(
    SIGNATURE_HEADER,
    `${SIGNATURE_HEADER} matches none of the secrets, or the body was changed: pass it as it arrived, before it is parsed`,
  );
}

function refusal(field: string, message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}
