import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { URL_RULE } from "../../src/config/store-url.ts";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { ERROR_CODES, MillraceError } from "../../src/core/errors.ts";
import { PROBLEMS } from "../../src/http/problem-codes.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/errors.md"), "utf8");

test("docs/errors.md has every code once, with its HTTP status and its exit code", () => {
  const rows = [...page.matchAll(/^\| `(\w+)` .*\| (\d+) +\| (\d+) +\|$/gm)].map(([, code, status, exit]) => `${code} ${status} ${exit}`);
  const answers = ERROR_CODES.map((code) => `${code} ${PROBLEMS[code].status} ${exitCodeOf(new MillraceError(code, ""))}`);
  expect(rows.sort()).toEqual(answers.sort());
});

/** The texts in our sources, each as its fixed parts; between them, values are filled in. */
function textsOfSources(): string[][] {
  const files = globSync("src/**/*.ts", { cwd: root }).map((file) => readFileSync(join(root, file), "utf8"));
  const literals = files.flatMap((source) => source.match(/`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"/g) ?? []);
  return literals.map((literal) =>
    literal
      .slice(1, -1)
      .replaceAll("\\", "")
      .split(/\$\{[^}]*\}/),
  );
}

/** How many fixed characters of a text `message` begins with; null if it does not begin with this text. */
function sharedWith(message: string, [first = "", ...others]: readonly string[]): number | null {
  if (first.startsWith(message)) return message.length;
  if (!message.startsWith(first)) return null;
  if (others.length === 0) return message === first ? first.length : null;
  const rest = message.slice(first.length);
  for (let index = 0; index <= rest.length; index++) {
    const shared = sharedWith(rest.slice(index), others);
    if (shared !== null) return first.length + shared;
  }
  return null;
}

/** From how many fixed characters on a text is known by them. */
const TELLING = 15;

test("the first messages of docs/errors.md are those of our sources", () => {
  const [, table = ""] = page.split("## First messages");
  const messages = [...table.matchAll(/^\| `([^`]+)` /gm)].map(([, message]) => message!.replace(/ ?…$/, ""));
  expect(messages.length).toBeGreaterThan(10);
  const texts = [...textsOfSources(), [`--url must be ${URL_RULE}`]];
  const FROM_NODE = "TypeScript enum is not supported in strip-only mode";
  const unknown = messages.filter((message) => !texts.some((text) => (sharedWith(message, text) ?? 0) >= TELLING));
  expect(unknown).toEqual([FROM_NODE]);
});
