/** The configuration file: where it is, and what can be wrong with it before its settings are read. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SETTING_NAMES, SETTINGS } from "../config.ts";
import { messageOf, MillraceError } from "../core/errors.ts";
import type { ConfigSources } from "./read-config.ts";

/** Its possible names, in the working directory. */
export const CONFIG_FILE_NAMES = ["millrace.config.ts", "millrace.config.js", "millrace.config.mjs", "millrace.config.json"] as const;

export interface FoundConfigFile {
  readonly file: NonNullable<ConfigSources["file"]> | null;
  readonly warnings: readonly string[];
}

/** Loads the named file, or the one in the folder; null if there is none. A module is run, like any import. */
export async function loadConfigFile(folder: string, named?: string): Promise<FoundConfigFile> {
  const path = named === undefined ? find(folder) : resolve(folder, named);
  if (path === null) return { file: null, warnings: [] };
  if (!existsSync(path)) throw unusable(named ?? path, "there is no such file");
  const file = { name: named ?? basename(path), content: await contentOf(path, named ?? basename(path)) };
  return { file, warnings: warningsAbout(path, file) };
}

function find(folder: string): string | null {
  const found = CONFIG_FILE_NAMES.filter((name) => existsSync(resolve(folder, name)));
  if (found.length > 1) throw unusable(found.join(" and "), "keep only one of them");
  return found[0] === undefined ? null : resolve(folder, found[0]);
}

async function contentOf(path: string, name: string): Promise<unknown> {
  try {
    if (path.endsWith(".json")) return JSON.parse(readFileSync(path, "utf8")) as unknown;
    return ((await import(pathToFileURL(path).href)) as { readonly default?: unknown }).default;
  } catch (error) {
    throw unusable(name, messageOf(error), error);
  }
}

/** Warns if others can read the secrets in the file. */
function warningsAbout(path: string, { name, content }: NonNullable<ConfigSources["file"]>): string[] {
  const isOpen = process.platform !== "win32" && (statSync(path).mode & 0o044) !== 0;
  const given = typeof content === "object" && content !== null ? Object.keys(content) : [];
  const secrets = SETTING_NAMES.filter((setting) => "secret" in SETTINGS[setting] && given.includes(setting));
  if (!isOpen || secrets.length === 0) return [];
  return [`${name} contains ${secrets.join(", ")}, and other users of this machine can read it. Run: chmod 600 ${name}`];
}

function unusable(name: string, reason: string, cause?: unknown): MillraceError {
  return new MillraceError("invalid_input", `the configuration file ${name} cannot be used: ${reason}`, { field: "config", cause });
}
