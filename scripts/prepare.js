// What npm runs before it packs this package: for `npm pack`, and for `npm install` of a git address or a folder, where nothing may be
// installed or built yet. The set-up installs on its own behalf, and needs no build for that.
//
// This file runs on the machine's own Node (18 or later): plain JavaScript, built-ins only.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

if (!process.env.MILLRACE_SET_UP) {
  run(process.execPath, ["scripts/set-up.js"]);
  run(process.platform === "win32" ? "npm.cmd" : "npm", ["run", "--silent", "build"]);
}

function run(command, args) {
  // npm shows what a script prints to stderr; `npm pack --json` has its answer on stdout.
  const { status } = spawnSync(command, args, { cwd: fileURLToPath(new URL("..", import.meta.url)), stdio: ["ignore", 2, 2] });
  if (status !== 0) process.exit(1);
}
