import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const folder = new URL("./", import.meta.url);

/** Installs the packages of ./package.json into this folder, never into the product. */
export function installPeers(): void {
  if (wanted().every(isInstalled)) return;
  // No peer needs to be built on this machine.
  const args = ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"];
  try {
    execFileSync("npm", args, { cwd: folder, stdio: ["ignore", process.stderr, process.stderr] });
  } catch {
    console.error("npm could not install all peers: missing ones will be reported as failed");
  }
}

function wanted(): [name: string, version: string][] {
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as { dependencies: Record<string, string> };
  return Object.entries(dependencies);
}

function isInstalled([name, version]: [string, string]): boolean {
  try {
    return versionOf(name) === version;
  } catch {
    return false;
  }
}

/** The installed peers: package and version. */
export function installedPeers(): string[] {
  return wanted()
    .filter(isInstalled)
    .map((peer) => peer.join(" "));
}

function versionOf(name: string): string {
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, folder), "utf8")) as { version: string };
  return version;
}

/** Loads a peer, without types: they would need an install that a plain clone does not have. */
export async function loadPeer<Module>(name: string): Promise<Module> {
  try {
    return (await import(name)) as Module;
  } catch (error) {
    throw (error as { code?: unknown }).code === "ERR_MODULE_NOT_FOUND" ? new Error("not installed", { cause: error }) : error;
  }
}
