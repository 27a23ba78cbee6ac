// What is shipped: small enough, nothing inside the page that a strict policy forbids, and nothing from anywhere else.

import { existsSync, readdirSync, readFileSync } from "node:fs";
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

/** A file as it was before it was compressed. */
function read(file: string): string {
  const packed = path.join(folder, `${file}.gz`);
  return existsSync(packed) ? gunzipSync(readFileSync(packed)).toString() : readFileSync(path.join(folder, file), "utf8");
}

/** The names of all assets, as the page calls them. */
function assets(): string[] {
  return readdirSync(path.join(folder, "assets")).map((file) => file.replace(/\.gz$/, ""));
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
  const overview = assets().find((file) => /^overview-.*\.js$/.test(file));
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

test("what is not small is there compressed, in both ways that callers read", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => /\.(js|css)$/.test(name))) {
    expect(readFileSync(path.join(folder, file)).byteLength).toBeLessThan(KB);
  }
  const packed = files.filter((file) => file.endsWith(".gz"));
  expect(packed.length).toBeGreaterThan(5);
  for (const file of packed) {
    const plain = file.slice(0, -".gz".length);
    expect(brotliDecompressSync(readFileSync(path.join(folder, `${plain}.br`))).toString()).toBe(read(plain));
  }
});

test("the page holds no script and no style of its own", () => {
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i);
});

test("all that it loads is found from where it is mounted, and nothing comes from elsewhere", () => {
  for (const [, address = ""] of html.matchAll(/(?:src|href)="([^"]+)"/g)) expect(address).toMatch(/^\.\//);
  expect(html).toContain('<base href="./" />');
  expect(html).toContain('<meta name="millrace-api" content="../" />');
  const styles = assets().filter((file) => file.endsWith(".css"));
  expect(styles).not.toEqual([]);
  for (const file of styles) expect(read(`assets/${file}`)).not.toMatch(/url\(|@import/);
});
