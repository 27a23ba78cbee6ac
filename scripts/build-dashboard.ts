// Builds the dashboard's page into dist/dashboard, unless what is there was made from the same sources. Whoever serves or tests the page
// calls this first, so that neither needs a command before it.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = path.join(root, "dist", "dashboard");
const stampFile = path.join(root, "node_modules", ".millrace-dashboard");

/** All that the page is made of: its own room, what it may use of others, and the tools. */
const madeOf = ["src/dashboard", "src/http", "src/core", "src/lib", "src/client", "vite.config.ts", "package-lock.json"];

/** Where the page's files are, built if they were not. */
export async function buildDashboard(): Promise<string> {
  const stamp = stampOf(madeOf);
  if (existsSync(path.join(folder, "index.html")) && readIfThere(stampFile) === stamp) return folder;
  const { build } = await import("vite");
  await build({ configFile: path.join(root, "vite.config.ts"), logLevel: "error" });
  writeFileSync(stampFile, stamp);
  return folder;
}

function stampOf(places: readonly string[]): string {
  const hash = createHash("sha256");
  for (const file of places.flatMap(filesIn).sort()) hash.update(`${file}\0`).update(readFileSync(path.join(root, file)));
  return hash.digest("hex");
}

function filesIn(place: string): string[] {
  if (/\.\w+$/.test(place)) return [place];
  return readdirSync(path.join(root, place), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

if (import.meta.main) console.log(`The dashboard is in ${path.relative(process.cwd(), await buildDashboard())}`);
