/**
 * THE FILES OF A BUILT PAGE, in memory: what can be asked for is a list that was read once, so no address leads anywhere else. Each is sent as
 * small as the caller can read it.
 */
import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Answer, Call } from "./call.ts";

/** How a file is sent. */
type Encoding = "br" | "gzip" | "identity";

interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

interface PageFile {
  readonly mediaType: string;
  readonly cacheControl: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  /** Made when the first caller asks for it, then kept. */
  readonly packed: Map<Encoding, Promise<Content>>;
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
/** Packing costs more than it spares below this. */
const MIN_PACKED_BYTES = 1024;

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

/** Files of one folder, by their path in it. */
export class PageFiles {
  readonly #files: ReadonlyMap<string, PageFile>;

  private constructor(files: ReadonlyMap<string, PageFile>) {
    this.#files = files;
  }

  /** Reads all files of a folder. Throws what the file system throws. */
  static async read(folder: string): Promise<PageFiles> {
    const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const files = entries.map(async (entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(folder, file).split(path.sep).join("/");
      const mediaType = MEDIA_TYPES[path.extname(name)] ?? "application/octet-stream";
      return [name, pageFile(mediaType, name.startsWith("assets/") ? FOR_EVER : ASK_FIRST, await readFile(file))] as const;
    });
    return new PageFiles(new Map(await Promise.all(files)));
  }

  has(name: string): boolean {
    return this.#files.has(name);
  }

  /** A file as a text. */
  text(name: string): string {
    return Buffer.from(this.#files.get(name)?.plain ?? []).toString("utf8");
  }

  /** Answers with a file; null when there is none of this name. */
  async answer(name: string, call: Call): Promise<Answer | null> {
    const file = this.#files.get(name);
    return file === undefined ? null : send(file, call);
  }
}

/** A page that is not a file as it is, but made of one. */
export class MadePage {
  readonly #file: PageFile;

  constructor(html: string) {
    this.#file = pageFile(MEDIA_TYPES[".html"] ?? "", ASK_FIRST, Buffer.from(html));
  }

  answer(call: Call): Promise<Answer> {
    return send(this.#file, call);
  }
}

function pageFile(mediaType: string, cacheControl: string, plain: Uint8Array<ArrayBuffer>): PageFile {
  return { mediaType, cacheControl, plain, packed: new Map() };
}

async function send(file: PageFile, call: Call): Promise<Answer> {
  const encoding = file.plain.byteLength < MIN_PACKED_BYTES ? "identity" : encodingFor(call.header("accept-encoding"));
  const { bytes, etag } = await contentOf(file, encoding);
  const headers: Record<string, string> = { ...HEADERS, "Cache-Control": file.cacheControl, ETag: etag, Vary: "Accept-Encoding" };
  if (isKnown(call.header("if-none-match"), etag)) return { status: 304, headers, body: null };
  if (encoding !== "identity") headers["Content-Encoding"] = encoding;
  return {
    status: 200,
    headers: { ...headers, "Content-Type": file.mediaType, "Content-Length": String(bytes.byteLength) },
    body: call.method === "HEAD" ? null : bytes,
  };
}

function contentOf(file: PageFile, encoding: Encoding): Promise<Content> {
  const made = file.packed.get(encoding) ?? pack(file.plain, encoding);
  file.packed.set(encoding, made);
  return made;
}

async function pack(plain: Uint8Array<ArrayBuffer>, encoding: Encoding): Promise<Content> {
  const bytes = encoding === "br" ? await brotli(plain, BROTLI) : encoding === "gzip" ? await gzipped(plain, { level: 9 }) : plain;
  return { bytes, etag: `"${hash("sha256", bytes, "base64url").slice(0, 22)}"` };
}

/** Better than gzip at its best, in a tenth of the time that the best of this one would take. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

/** The best that the caller can read. A wish for none of them, `q=0`, is heard. */
function encodingFor(accepted: string | null): Encoding {
  const offers = (accepted ?? "").toLowerCase().split(",");
  const takes = (name: Encoding): boolean =>
    offers.some((offer) => offer.trim().split(";")[0]?.trim() === name && !/;\s*q=0(\.0*)?\s*$/.test(offer));
  return takes("br") ? "br" : takes("gzip") ? "gzip" : "identity";
}

function isKnown(known: string | null, etag: string): boolean {
  return known !== null && known.split(",").some((each) => each.trim().replace(/^W\//, "") === etag);
}
