// Stands for npm in the test of the set-up. `ci` copies the packages of the lock file from this project instead of loading them.

import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const OUR_NODE = /^node_modules\/node\/node_modules\//;

const [command] = process.argv.slice(2);
if (command === "config") console.log("http://127.0.0.1/");
else if (command === "ci") install();
else throw new Error(`the set-up ran npm ${process.argv.slice(2).join(" ")}`);

function install(): void {
  const { packages } = JSON.parse(readFileSync("npm-shrinkwrap.json", "utf8")) as { packages: Record<string, unknown> };
  mkdirSync("node_modules/.bin", { recursive: true });
  for (const place of Object.keys(packages)) {
    // Only its program: the rest of it is large, and who installed by another way does not have it.
    if (OUR_NODE.test(place)) cpSync(process.execPath, join(place, "bin/node"));
    else if (place !== "" && place !== "node_modules/node" && existsSync(join(root, place))) copy(place);
  }
  writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages }));
}

/** Without the packages in it: each has its own place. */
function copy(place: string): void {
  const packagesInIt = join(root, place, "node_modules");
  cpSync(join(root, place), place, { recursive: true, filter: (source) => source !== packagesInIt });
}
