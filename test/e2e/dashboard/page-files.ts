import { readFileSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import path from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".html": "text/html",
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

/** Answers a request below `mount` with a file of the page, and every address that is no file with the page itself. */
export function servePage(folder: string, mount: string, incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  const { pathname } = new URL(incoming.url ?? "/", "http://localhost");
  if (pathname === mount) {
    // Relative, so that it holds behind a proxy that took a part of the path off.
    outgoing.writeHead(308, { Location: `${path.posix.basename(mount)}/` }).end();
    return true;
  }
  if (!pathname.startsWith(`${mount}/`)) return false;
  const asked = pathname.slice(mount.length + 1);
  const file = path.join(folder, path.posix.normalize(`/${asked}`));
  if (asked !== "" && statSync(file, { throwIfNoEntry: false })?.isFile() === true) {
    outgoing.writeHead(200, headersOf(path.extname(file))).end(readFileSync(file));
    return true;
  }
  const wayBack = "../".repeat(asked.split("/").length - 1) || "./";
  const html = readFileSync(path.join(folder, "index.html"), "utf8").replace('<base href="./" />', `<base href="${wayBack}" />`);
  outgoing.writeHead(200, headersOf(".html")).end(html);
  return true;
}

function headersOf(extension: string): Record<string, string> {
  return {
    // The names of scripts and styles say what is in them; the page itself is asked for each time.
    "Cache-Control": extension === ".html" ? "no-cache" : "public, max-age=31536000, immutable",
    "Content-Type": TYPES[extension] ?? "application/octet-stream",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
  };
}
