import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { ERROR_CODES, MillraceError } from "../../src/core/errors.ts";
import { PROBLEMS } from "../../src/http/problem-codes.ts";

test("docs/errors.md has every code once, with its HTTP status and its exit code", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/errors.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` .*\| (\d+) +\| (\d+) +\|$/gm)].map(([, code, status, exit]) => `${code} ${status} ${exit}`);
  const answers = ERROR_CODES.map((code) => `${code} ${PROBLEMS[code].status} ${exitCodeOf(new MillraceError(code, ""))}`);
  expect(rows.sort()).toEqual(answers.sort());
});
