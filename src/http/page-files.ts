/**
 * THE FILES OF A BUILT PAGE, in memory. Only files that were read at the start can be requested, so no path leads anywhere else. The build
 * compresses most of them in two ways; each is sent in the smallest form that the caller accepts.
 */
import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import type { Answer, Call } from "./call.ts";

/** How a file may be sent, the best first, and the ending of its name. */
const ENCODINGS = [
  { name: "br", ending: ".br" },
  { name: "gzip", ending: ".gz" },
  { name: "identity", ending: "" },
] as const;
type Encoding = (typeof ENCODINGS)[number]["name"];

interface Content {
  readonly encoding: Encoding;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

export interface PageFile {
  readonly mediaType: string;
  readonly cacheControl: string;
  /** The best first; the last is the file without compression. */
  readonly contents: readonly Content[];
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** No inline code or style, and nothing from other servers. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
};

/** Names of assets contain a hash of their content. All other files are revalidated each time, and answered with 304 if unchanged. */
const FOR_EVER = "public, max-age=31536000, immutable";
const ASK_FIRST = "no-cache";

/** Reads all files of a folder, by their path in it. Throws what the file system throws. */
export async function readPageFiles(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const read = entries.map(async (entry) => {
    const file = path.join(entry.parentPath, entry.name);
    return [path.relative(folder, file).split(path.sep).join("/"), await readFile(file)] as const;
  });
  const bytes = new Map(await Promise.all(read));
  const names = new Set(Array.from(bytes.keys(), (name) => name.replace(/\.(br|gz)$/, "")));
  return new Map(Array.from(names, (name) => [name, pageFile(name, (ending) => bytes.get(name + ending))]));
}

/** A page that was made from a file. */
export function madePage(html: string): PageFile {
  return pageFile(".html", (ending) => (ending === "" ? Buffer.from(html) : undefined));
}

function pageFile(name: string, bytesOf: (ending: string) => Uint8Array<ArrayBuffer> | undefined): PageFile {
  return {
    mediaType: MEDIA_TYPES[path.extname(name) || name] ?? "application/octet-stream",
    cacheControl: name.startsWith("assets/") ? FOR_EVER : ASK_FIRST,
    contents: ENCODINGS.flatMap(({ name: encoding, ending }) => {
      const bytes = bytesOf(ending) ?? (encoding === "identity" ? gunzipSync(bytesOf(".gz")!) : undefined);
      return bytes === undefined ? [] : [{ encoding, bytes, etag: `"${hash("sha256", bytes, "base64url").slice(0, 22)}"` }];
    }),
  };
}

/** A file as text. */
export function textOf({ contents }: PageFile): string {
  return Buffer.from(contents.at(-1)!.bytes).toString("utf8");
}

export function sendFile({ mediaType, cacheControl, contents }: PageFile, call: Call): Answer {
  const accepted = call.header("accept-encoding");
  const { encoding, bytes, etag } = contents.find(({ encoding: name }) => name === "identity" || takes(accepted, name))!;
  const headers: Record<string, string> = { ...HEADERS, "Cache-Control": cacheControl, ETag: etag, Vary: "Accept-Encoding" };
  if (isKnown(call.header("if-none-match"), etag)) return { status: 304, headers, body: null };
  if (encoding !== "identity") headers["Content-Encoding"] = encoding;
  return {
    status: 200,
    headers: { ...headers, "Content-Type": mediaType, "Content-Length": String(bytes.byteLength) },
    body: call.method === "HEAD" ? null : bytes,
  };
}

/** Whether the caller accepts the encoding. `q=0` refuses it. */
function takes(accepted: string | null, encoding: Encoding): boolean {
  const offers = (accepted ?? "").toLowerCase().split(",");
  return offers.some((offer) => offer.trim().split(";")[0]?.trim() === encoding && !/;\s*q=0(\.0*)?\s*$/.test(offer));
}

function isKnown(known: string | null, etag: string): boolean {
  return known !== null && known.split(",").some((each) => each.trim().replace(/^W\//, "") === etag);
}
