// What is shipped: small enough, nothing inside the page that a strict policy forbids, and nothing from anywhere else.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { buildDashboard } from "../../scripts/build-dashboard.ts";

const KB = 1024;
let folder: string;
let html: string;

beforeAll(async () => {
  folder = await buildDashboard();
  html = readFileSync(path.join(folder, "index.html"), "utf8");
});

function read(file: string): string {
  return readFileSync(path.join(folder, file), "utf8");
}

/** Files that a script asks for by itself as soon as it is loaded. */
function withImports(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const imported = read(file).matchAll(/(?:^|[;}\n])import(?:[^"'()]*?from)?\s*["']\.\/([^"']+\.js)["']/g);
  for (const [, name = ""] of imported) withImports(`assets/${name}`, seen);
  return seen;
}

function gzipped(files: Iterable<string>): number {
  return [...files].reduce((sum, file) => sum + gzipSync(read(file), { level: 9 }).length, 0);
}

/** The entry, and the page that is shown first. */
function firstLoad(): Set<string> {
  const scripts = [...html.matchAll(/(?:src|href)="\.\/([^"]+\.js)"/g)].map(([, file = ""]) => file);
  const overview = readdirSync(path.join(folder, "assets")).find((file) => /^overview-.*\.js$/.test(file));
  const files = new Set<string>();
  for (const file of [...scripts, `assets/${overview}`]) withImports(file, files);
  return files;
}

test("the first load is at most 250 KB of script and 20 KB of style", () => {
  const files = firstLoad();
  expect(files.size).toBeGreaterThan(3);
  expect(gzipped(files)).toBeLessThan(250 * KB);
  const styles = [...html.matchAll(/href="\.\/([^"]+\.css)"/g)].map(([, file = ""]) => file);
  expect(styles).not.toEqual([]);
  expect(gzipped(styles)).toBeLessThan(20 * KB);
});

test("what is not small is there compressed, too, and is the same", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /\.(js|css)$/.test(file));
  const large = files.filter((file) => readFileSync(path.join(folder, file)).byteLength >= KB);
  expect(large.length).toBeGreaterThan(5);
  for (const file of large) {
    expect(brotliDecompressSync(readFileSync(path.join(folder, `${file}.br`))).toString()).toBe(read(file));
    expect(gunzipSync(readFileSync(path.join(folder, `${file}.gz`))).toString()).toBe(read(file));
  }
});

test("the page holds no script and no style of its own", () => {
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i);
});

test("all that it loads is found from where it is mounted, and nothing comes from elsewhere", () => {
  for (const [, address = ""] of html.matchAll(/(?:src|href)="([^"]+)"/g)) expect(address).toMatch(/^\.\//);
  expect(html).toContain('<base href="./" />');
  expect(html).toContain('<meta name="millrace-api" content="../" />');
  const styles = readdirSync(path.join(folder, "assets")).filter((file) => file.endsWith(".css"));
  for (const file of styles) expect(read(`assets/${file}`)).not.toMatch(/url\(|@import/);
});
