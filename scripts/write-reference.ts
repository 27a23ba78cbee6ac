// `npm run reference`: writes the files generated from the tables of settings, commands and routes. A test fails if they are outdated.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { format, type FormatConfig } from "oxfmt";
import { referenceMarkdown } from "../src/http/reference.ts";
import { commandReference, envExample, settingsTables, withMade } from "./reference.ts";

const root = path.resolve(import.meta.dirname, "..");
const formatOptions = JSON.parse(readFileSync(path.join(root, ".oxfmtrc.json"), "utf8")) as FormatConfig;

/** Every generated file and its text. */
export async function madeFiles(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    [".env.example", envExample()],
    ["docs/settings.md", await page("docs/settings.md", settingsTables())],
    ["docs/cli.md", await page("docs/cli.md", await commandReference())],
    ["docs/http-reference.md", await formatted("docs/http-reference.md", referenceMarkdown())],
  ]);
}

function page(name: string, made: string): Promise<string> {
  return formatted(name, withMade(readFileSync(path.join(root, name), "utf8"), made));
}

async function formatted(name: string, text: string): Promise<string> {
  const { code, errors } = await format(name, text, formatOptions);
  if (errors.length > 0) throw new Error(`${name} cannot be formatted: ${errors.map(({ message }) => message).join("; ")}`);
  return code;
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, text] of await madeFiles()) writeFileSync(path.join(root, name), text);
}
