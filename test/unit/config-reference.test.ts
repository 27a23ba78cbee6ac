import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, test } from "vitest";
import { envExample } from "../../scripts/reference.ts";
import { madeFiles } from "../../scripts/write-reference.ts";
import { SETTING_NAMES, SETTINGS } from "../../src/config.ts";
import { readSetting } from "../../src/config/read-config.ts";

const root = join(import.meta.dirname, "../..");
const made = await madeFiles();

test.for([...made.keys()])("%s says what the tables of settings and commands say: if not, `npm run reference` writes it anew", (name) => {
  expect(readFileSync(join(root, name), "utf8")).toBe(made.get(name));
});

test("what .env.example proposes is what holds anyway", () => {
  const env = parseEnv(envExample().replaceAll(/^# ([A-Z_]+=)/gm, "$1"));
  expect(Object.keys(env).sort()).toEqual(SETTING_NAMES.map((name) => SETTINGS[name].env).sort());
  for (const name of SETTING_NAMES) expect(readSetting(name, { env }).value).toEqual(SETTINGS[name].fallback);
});
