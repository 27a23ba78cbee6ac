/**
 * ONE REQUEST OUT, ONE ANSWER IN, all of it bounded: the time to connect, the total time, the head and the body of the answer. The other side
 * may be hostile: silent, endless, or very slow.
 *
 * This uses Node's `http`, not `fetch`, because only there can we fix the connection to the checked addresses. Redirects are not followed (they
 * would bypass the check), cookies not kept, proxies of the environment not used, and certificates always verified.
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
  /** For lookup, connection and TLS together. */
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
  /** The host that answered. The rest of the URL is not shown: the path is often a secret. */
  readonly host: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Why the body is incomplete: too long, too slow, or the connection broke. The status is valid anyway. */
  readonly cut: "size" | "time" | "broken" | null;
}

/** No answer in time. */
export class TimedOut extends Error {
  override readonly name = "TimedOut";
}

/** A network error: unknown host, nothing listens, wrong certificate, or the answer is not HTTP. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  constructor(host: string, cause: unknown) {
    // If several addresses were tried, Node collects their errors in one without a message.
    const { message, code } = cause as NodeJS.ErrnoException;
    super(`the request to ${host} failed: ${message || code}`, { cause });
  }
}

const MAX_HEAD_BYTES = 16 * 1024;
/** If the first address of a host is unreachable, there must be time for the next one. */
const ADDRESS_ATTEMPT_MS = 1500;

// Our own agents: the global one may use a proxy. Connections are not kept, so that each request is checked again.
const plainAgent = new http.Agent({ keepAlive: false });
const secureAgent = new https.Agent({ keepAlive: false, maxCachedSessions: 0 });

/** Sends a request to an address that the guard allows. Throws Blocked, TimedOut, Unreachable, or the reason of `signal`. */
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
    end.abort(); // closes whatever is still open
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

/** A lookup cannot be stopped, only ignored; and nobody waits for a connection longer than allowed. */
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
    // This listener stays: after the answer has begun, a broken connection also comes here, but then reading the body handles it.
    request.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : new Unreachable(url.host, error)));
    // Node silently drops an answer that changes the protocol.
    request.once("close", () => reject(new Unreachable(url.host, new Error("the answer was not HTTP"))));
    request.end(body ?? undefined);
  });
}

/** Resolves to the checked addresses, whatever the name servers say by now. */
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
