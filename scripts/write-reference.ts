// `npm run reference`: writes what is made from the tables of settings and commands. A test says when it is due.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { format, resolveConfig } from "prettier";
import { commandReference, envExample, settingsTables, withMade } from "./reference.ts";

const root = path.resolve(import.meta.dirname, "..");

/** Every made file with the text that it should have. */
export async function madeFiles(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    [".env.example", envExample()],
    ["docs/settings.md", await page("docs/settings.md", settingsTables())],
    ["docs/cli.md", await page("docs/cli.md", await commandReference())],
  ]);
}

async function page(name: string, made: string): Promise<string> {
  const file = path.join(root, name);
  const options = (await resolveConfig(file)) ?? {};
  return format(withMade(readFileSync(file, "utf8"), made), { ...options, filepath: file });
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, text] of await madeFiles()) writeFileSync(path.join(root, name), text);
}
