/**
 * THE FILES OF A BUILT PAGE, in memory: what can be asked for is a list that was read once, so no address leads anywhere else. The build leaves
 * most of them compressed, in two ways, and each is sent as small as the caller can read it.
 */
import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import type { Answer, Call } from "./call.ts";

/** How a file may be sent, the best first, and how its name then ends. */
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

/** A file that can be asked for. */
export interface PageFile {
  readonly mediaType: string;
  readonly cacheControl: string;
  /** The best first; the last is the file as it is. */
  readonly contents: readonly Content[];
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** As strict as a policy can be: nothing inside the page, nothing from elsewhere. */
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

/** The names of these say what is in them; all others are asked for each time, and are answered with "as you have it" where they are. */
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

/** A page that is not a file as it is, but made of one. */
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

/** A file as a text. */
export function textOf({ contents }: PageFile): string {
  return Buffer.from(contents.at(-1)!.bytes).toString("utf8");
}

/** Answers with a file. */
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

/** Whether the caller can read it. `q=0` says that it cannot. */
function takes(accepted: string | null, encoding: Encoding): boolean {
  const offers = (accepted ?? "").toLowerCase().split(",");
  return offers.some((offer) => offer.trim().split(";")[0]?.trim() === encoding && !/;\s*q=0(\.0*)?\s*$/.test(offer));
}

function isKnown(known: string | null, etag: string): boolean {
  return known !== null && known.split(",").some((each) => each.trim().replace(/^W\//, "") === etag);
}
