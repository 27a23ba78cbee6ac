// Builds the dashboard into dist/dashboard, unless it is already built from the same sources. `npm start` and the tests call this first.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = path.join(root, "dist", "dashboard");
// In the same folder as the page, so that both are removed together. `npm run build` makes the folder again without it.
const stampFile = `${folder}.made-of`;
const lockFile = `${folder}.lock`;

/** The sources of the page: its folder, the folders it may import, and the tools. */
const madeOf = ["src/dashboard", "src/http", "src/core", "src/lib", "src/client", "vite.config.ts", "package-lock.json"];

let built: Promise<string> | null = null;

/** The folder of the page, built if necessary. A process looks at the sources once: there are hundreds of them, and each test asks. */
export function buildDashboard(): Promise<string> {
  return (built ??= buildIfNecessary());
}

async function buildIfNecessary(): Promise<string> {
  if (!isBuilt()) await withLock(build);
  return folder;
}

function isBuilt(): boolean {
  return existsSync(path.join(folder, "index.html")) && readIfThere(stampFile) === stampOf(madeOf);
}

async function build(): Promise<void> {
  // Another process may have built it while this one waited for the lock.
  if (isBuilt()) return;
  const stamp = stampOf(madeOf);
  await promisify(execFile)(process.execPath, [path.join(root, "node_modules", "vite", "bin", "vite.js"), "build", "--logLevel", "warn"], {
    cwd: root,
    // A test runner sets NODE_ENV=test, which would bundle the development build of React.
    env: { ...process.env, NODE_ENV: "production" },
  });
  writeFileSync(stampFile, stamp);
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

/** Two tests may build at once; the second waits for the first. A lock of a dead process is taken over. */
async function withLock(work: () => Promise<void>): Promise<void> {
  mkdirSync(path.dirname(lockFile), { recursive: true });
  while (!takeLock()) await sleep(100);
  try {
    await work();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function takeLock(): boolean {
  try {
    writeFileSync(lockFile, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    const owner = Number(readIfThere(lockFile));
    if (owner > 0 && !isRunning(owner)) rmSync(lockFile, { force: true });
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** `npm start` runs this first. If the build fails, the server still starts, without the page. */
async function main(): Promise<void> {
  if (isBuilt()) return;
  console.log("set-up: building the dashboard (first run, or its sources have changed)");
  try {
    await buildDashboard();
  } catch (error) {
    console.error(`set-up: the dashboard could not be built, so the server starts without its page. ${String(error)}`);
  }
}

if (import.meta.main) await main();
