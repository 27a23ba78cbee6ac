import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";

export const HTML = '<!doctype html><base href="./" /><script type="module" src="./assets/main-abc.js"></script>';
export const SCRIPT = `console.log("a script");\n`.repeat(100);

/** A folder as the build leaves it, with something beside it that nobody may read. */
export function builtPage(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const page = join(folder, "dashboard");
  mkdirSync(join(page, "assets"), { recursive: true });
  writeFileSync(join(page, "index.html"), HTML);
  writeFileSync(join(page, "theme.js"), "document;");
  writeFileSync(join(page, "assets", "main-abc.js"), SCRIPT);
  writeFileSync(join(page, "assets", "main-abc.js.br"), brotliCompressSync(SCRIPT));
  writeFileSync(join(page, "assets", "main-abc.js.gz"), gzipSync(SCRIPT));
  writeFileSync(join(folder, "secret.txt"), "not for you");
  symlinkSync(join(folder, "secret.txt"), join(page, "assets", "way-out.txt"));
  return page;
}
