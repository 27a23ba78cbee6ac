import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const folder = new URL("peers/", import.meta.url);

/** Installs what bench/peers/package.json names, there and not into the product. */
export function installPeers(): void {
  if (existsSync(new URL("node_modules/plainjob", folder))) return;
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"], { cwd: folder, stdio: "inherit" });
}

/** Loads a peer. Its types are not ours to have: they come with an install that a plain clone does not make. */
export async function loadPeer<Module>(name: string): Promise<Module> {
  const entry = createRequire(new URL("package.json", folder)).resolve(name);
  return (await import(pathToFileURL(entry).href)) as Module;
}
