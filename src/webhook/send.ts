/**
 * ONE REQUEST OUT, ONE ANSWER IN, all of it bounded: the time to connect, the time in all, the head and the body of the answer. The other
 * side may be hostile: silent, endless, or slow as a drip.
 *
 * Node's own `http`, not `fetch`: only here can the connection be held to the addresses that were checked. No redirect is followed (it
 * would lead past the check), no cookie kept, no proxy of the environment used, and certificates are verified whatever the environment says.
 */
import type { LookupAddress } from "node:dns";
import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { Blocked, type Guard } from "./guard.ts";

export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

export interface SendLimits {
  /** Look-up, connection and TLS together. */
  readonly connectMs: number;
  readonly totalMs: number;
  /** How much of the answer's body is read. */
  readonly maxBytes: number;
}

export interface Sender {
  readonly guard: Guard;
  /** Certificates of authorities to trust instead of the system's, in PEM. */
  readonly ca?: string | undefined;
}

export interface Answer {
  /** Who answered. All of the URL that may be told: its path is often a secret. */
  readonly host: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Why the body is not whole: it was too long, took too long, or the connection broke. The status stands all the same. */
  readonly cut: "size" | "time" | "broken" | null;
}

/** Nobody answered in time. */
export class TimedOut extends Error {
  override readonly name = "TimedOut";
}

/** The network said no: there is no such host, nobody listens, the certificate is wrong, or what came back is not HTTP. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  constructor(host: string, cause: unknown) {
    // Where several addresses were tried, Node gathers their errors under one without words.
    const { message, code } = cause as NodeJS.ErrnoException;
    super(`${host} could not be asked: ${message || code}`, { cause });
  }
}

const MAX_HEAD_BYTES = 16 * 1024;
/** A host with an unreachable address first must leave time for its next one. */
const ADDRESS_ATTEMPT_MS = 1500;

// Agents of our own: the global one may have been given a proxy. No connection is kept, so each request is checked anew.
const plainAgent = new http.Agent({ keepAlive: false });
const secureAgent = new https.Agent({ keepAlive: false, maxCachedSessions: 0 });

/** Sends a request to an address that the guard lets pass. Throws Blocked, TimedOut, Unreachable, or the reason of `signal`. */
export async function send(sender: Sender, request: OutgoingRequest, limits: SendLimits, signal: AbortSignal): Promise<Answer> {
  const url = sender.guard.readUrl(request.url);
  const { host } = url;
  const end = new AbortController();
  const onAbort = (): void => end.abort(signal.reason);
  const connecting = setTimeout(() => end.abort(timedOut(`${host} could not be reached`, limits.connectMs)), limits.connectMs);
  const answering = setTimeout(() => end.abort(timedOut(`${host} did not answer`, limits.totalMs)), limits.totalMs);
  signal.addEventListener("abort", onAbort);
  try {
    signal.throwIfAborted();
    const addresses = await untilAborted(lookUp(sender.guard, url, end.signal), end.signal);
    const response = await untilAborted(
      respond(sender, request, { url, addresses }, end.signal, () => clearTimeout(connecting)),
      end.signal,
    );
    return {
      host,
      status: response.statusCode ?? 0,
      headers: response.headers,
      ...(await readBody(response, limits.maxBytes, end, signal)),
    };
  } finally {
    clearTimeout(connecting);
    clearTimeout(answering);
    signal.removeEventListener("abort", onAbort);
    end.abort(); // whatever is still open belongs to nobody now
  }
}

function timedOut(what: string, ms: number): TimedOut {
  return new TimedOut(`${what} within ${ms / 1000} s`);
}

async function lookUp(guard: Guard, url: URL, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  try {
    return await guard.addressesOf(url, signal);
  } catch (error) {
    throw error instanceof Blocked || signal.aborted ? error : new Unreachable(url.host, error);
  }
}

/** A look-up cannot be stopped, only left; and whatever a connection does, nobody waits for it longer than was said. */
function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort);
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

function respond(
  { ca }: Sender,
  { method, headers, body }: OutgoingRequest,
  { url, addresses }: { readonly url: URL; readonly addresses: readonly LookupAddress[] },
  signal: AbortSignal,
  onConnected: () => void,
): Promise<IncomingMessage> {
  const isSecure = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers,
      signal,
      lookup: pinnedTo(addresses),
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      insecureHTTPParser: false,
    };
    const request = isSecure
      ? https.request(url, { ...options, agent: secureAgent, rejectUnauthorized: true, ca })
      : http.request(url, { ...options, agent: plainAgent });
    request.once("socket", (socket) => socket.once(isSecure ? "secureConnect" : "connect", onConnected));
    request.once("response", resolve);
    // A listener that stays: after the answer has begun, a broken connection is told here too, and by then it is the body's concern.
    request.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : new Unreachable(url.host, error)));
    // An answer that changes the protocol is dropped by Node without a word.
    request.once("close", () => reject(new Unreachable(url.host, new Error("it answered with something else than HTTP"))));
    request.end(body ?? undefined);
  });
}

/** Answers with what was checked, whatever the name servers say by now. */
function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else callback(null, first!.address, first!.family);
  };
}

async function readBody(
  response: IncomingMessage,
  maxBytes: number,
  end: AbortController,
  callers: AbortSignal,
): Promise<Pick<Answer, "body" | "cut">> {
  const chunks: Buffer[] = [];
  let left = maxBytes;
  let cut: Answer["cut"] = null;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, left));
      left -= chunk.length;
      if (left < 0) {
        cut = "size";
        break;
      }
    }
  } catch {
    callers.throwIfAborted();
    cut = end.signal.aborted ? "time" : "broken";
  }
  return { body: Buffer.concat(chunks), cut };
}
