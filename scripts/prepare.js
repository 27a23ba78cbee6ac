// What npm runs before it packs this package: for `npm pack`, and for `npm install` of a git address or a folder, where nothing may be
// installed or built yet. The set-up installs on its own behalf, and needs no build for that.
//
// What is packed has no scripts: they need the sources, and npm warns whoever installs a package from a file that has `prepare`. So the manifest is
// without them while npm packs (`--pack`), and as it was after that (`--packed`).
//
// This file runs on the machine's own Node (18 or later): plain JavaScript, built-ins only.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = path.join(root, "package.json");
const keptManifest = path.join(root, ".package.json.kept");

// First, so that it is also there again after a pack that was interrupted.
restoreManifest();
if (!process.argv.includes("--packed")) {
  if (!process.env.MILLRACE_SET_UP) build();
  if (process.argv.includes("--pack")) removeScripts();
}

function build() {
  run(process.execPath, ["scripts/set-up.js"]);
  run(process.platform === "win32" ? "npm.cmd" : "npm", ["run", "--silent", "build"]);
}

function run(command, args) {
  // npm shows what a script prints to stderr; `npm pack --json` has its answer on stdout.
  const { status } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status !== 0) process.exit(1);
}

function removeScripts() {
  const text = readFileSync(manifest, "utf8");
  const { scripts: _, ...rest } = JSON.parse(text);
  writeFileSync(keptManifest, text);
  writeFileSync(manifest, JSON.stringify(rest, undefined, 2) + "\n");
}

function restoreManifest() {
  if (existsSync(keptManifest)) renameSync(keptManifest, manifest);
}
