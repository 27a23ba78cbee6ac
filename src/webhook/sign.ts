/**
 * HOW DELIVERIES ARE SIGNED: by the Standard Webhooks specification, so that receivers can use its libraries as well as our `verifyWebhook`.
 * HMAC-SHA256 over `id.timestamp.body`, one signature for each secret, as `v1,` and base64, separated by spaces.
 */
import { createHmac } from "node:crypto";
import { invalid } from "../core/errors.ts";

export const ID_HEADER = "webhook-id";
export const TIMESTAMP_HEADER = "webhook-timestamp";
export const SIGNATURE_HEADER = "webhook-signature";
export const SIGNATURE_VERSION = "v1";

const BASE64_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** Reads one secret or several, as a list or separated by commas. The error never shows them. */
export function readSecrets(secrets: string | readonly string[], field: string): Buffer[] {
  const list = typeof secrets === "string" ? secrets.split(",") : secrets;
  if (!Array.isArray(list) || list.length === 0) throw invalid(field, "one or more secrets", list);
  return list.map((secret: unknown) => {
    const text = typeof secret === "string" ? secret.trim() : "";
    if (text === "") throw invalid(field, "one or more secrets separated by commas, none of them empty", typeof secret);
    return keyOf(text);
  });
}

/** The specification writes secrets as `whsec_` and base64; any other text is used as it is. */
function keyOf(secret: string): Buffer {
  const encoded = BASE64_SECRET.exec(secret)?.[1];
  return encoded === undefined ? Buffer.from(secret, "utf8") : Buffer.from(encoded, "base64");
}

/** The bytes of the signature with one key. `timestamp` is in seconds, as in the header. */
export function signatureOf(key: Buffer, id: string, timestamp: string, body: string | Uint8Array): Buffer {
  return createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
}

/** The headers of a delivery. Without keys there is no signature. */
export function signedHeaders(keys: readonly Buffer[], id: string, nowMs: number, body: Uint8Array): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const headers: Record<string, string> = { [ID_HEADER]: id, [TIMESTAMP_HEADER]: timestamp };
  if (keys.length === 0) return headers;
  const signatures = keys.map((key) => `${SIGNATURE_VERSION},${signatureOf(key, id, timestamp, body).toString("base64")}`);
  return { ...headers, [SIGNATURE_HEADER]: signatures.join(" ") };
}
