import { readFileSync } from "node:fs";

/** The version of this Millrace. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** The same for programs that may be bundled: a bundle may have no package.json beside it. */
export function versionIfKnown(): string | undefined {
  try {
    return packageVersion();
  } catch {
    return undefined;
  }
}
