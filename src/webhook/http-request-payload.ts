/** THE PAYLOAD OF http:request: method, url, headers and body, checked. */
import { validateHeaderName, validateHeaderValue } from "node:http";
import { invalid, MillraceError } from "../core/errors.ts";
import { readFields } from "../core/read-fields.ts";

/** A valid request. Its address is checked elsewhere. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** CONNECT and TRACE are for proxies. */
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const WITHOUT_BODY = ["GET", "HEAD"];

/** Headers of the connection, or about the sender: they could hide one request in another, or deceive a proxy in front of the receiver. */
const REFUSED_HEADERS = [
  "connection",
  "content-length",
  "expect",
  "forwarded",
  "host",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  "x-real-ip",
];
const REFUSED_PREFIXES = ["proxy-", "x-forwarded-"];

const MAX_HEADERS = 64;
const MAX_HEADERS_LENGTH = 16 * 1024;

/** Checks a payload. Throws `invalid_input` with the field. */
export function readHttpRequest(payload: unknown): HttpRequest {
  if (typeof payload !== "object" || payload === null) throw invalid("payload", "an object with url, method, headers and body", payload);
  const fields = readFields(payload, "the payload of http:request", ["method", "url", "headers", "body"], "payload.");
  const { url } = fields;
  if (typeof url !== "string" || !/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw invalid("payload.url", "an http or https URL", url);
  }
  const hasBody = fields.body !== undefined && fields.body !== null;
  const method = readMethod(fields.method, hasBody);
  const headers = readHeaders(fields.headers);
  return { method, url, ...withBody(headers, hasBody ? fields.body : undefined) };
}

function readMethod(method: unknown, hasBody: boolean): string {
  if (method === undefined) return hasBody ? "POST" : "GET";
  const name = typeof method === "string" ? method.toUpperCase() : "";
  if (!METHODS.includes(name)) throw invalid("payload.method", `one of ${METHODS.join(", ")}`, method);
  if (hasBody && WITHOUT_BODY.includes(name)) {
    throw new MillraceError("invalid_input", `payload.body cannot be sent with ${name}`, { field: "payload.body" });
  }
  return name;
}

function readHeaders(input: unknown): Record<string, string> {
  if (input === undefined || input === null) return {};
  if (typeof input !== "object" || Array.isArray(input)) throw invalid("payload.headers", "an object of strings by name", input);
  const entries = Object.entries(input);
  if (entries.length > MAX_HEADERS) throw invalid("payload.headers", `at most ${MAX_HEADERS} headers`, input);
  const headers = new Map<string, string>();
  let length = 0;
  for (const [name, value] of entries) {
    const field = `payload.headers.${name}`;
    readHeader(name, value, field);
    const lower = name.toLowerCase();
    if (headers.has(lower)) throw refusal(field, "is given twice, in different case");
    headers.set(lower, value as string);
    length += name.length + (value as string).length;
  }
  if (length > MAX_HEADERS_LENGTH) throw invalid("payload.headers", `at most ${MAX_HEADERS_LENGTH} characters together`, input);
  return Object.fromEntries(headers);
}

function readHeader(name: string, value: unknown, field: string): void {
  const lower = name.toLowerCase();
  if (REFUSED_HEADERS.includes(lower) || REFUSED_PREFIXES.some((prefix) => lower.startsWith(prefix))) {
    throw refusal(field, "cannot be set: it belongs to the connection");
  }
  if (typeof value !== "string") throw invalid(field, "a string", value);
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw refusal("payload.headers", "must have valid HTTP names and values, without line breaks or control characters");
  }
}

/** A string is sent as it is, anything else as JSON. */
function withBody(headers: Record<string, string>, body: unknown): Pick<HttpRequest, "headers" | "body"> {
  if (body === undefined) return { headers, body: null };
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const type = typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
  return { headers: { "content-type": type, ...headers, "content-length": String(bytes.length) }, body: bytes };
}

function refusal(field: string, why: string): MillraceError {
  return new MillraceError("invalid_input", `${field} ${why}`, { field });
}
