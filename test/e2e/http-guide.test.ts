/** docs/http.md is a walk: its requests are sent to one server, in their order, and the answers are held against what the page shows. */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { codeBlocks } from "./code-blocks.ts";
import { plainEnvironment, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const PAGE = readFileSync(fileURLToPath(new URL("../../docs/http.md", import.meta.url)), "utf8");
const KEY = "the-key-of-the-guide";
const READER = "the-key-of-a-reader";

/** `--json` of curl came in 2022. */
const [, major = 0, minor = 0] = /^curl (\d+)\.(\d+)/.exec(String(spawnSync("curl", ["--version"]).stdout))?.map(Number) ?? [];
const hasCurl = major > 7 || (major === 7 && minor >= 82);

interface Step {
  readonly heading: string;
  readonly script: string;
  /** The status line, and texts that must be in the answer. */
  readonly shown: readonly string[];
}

/** Each script with the answer that stands after it. */
function stepsOf(page: string): Step[] {
  const blocks = codeBlocks(page, "sh", "http");
  return blocks.flatMap(({ language, heading, code }, index) => {
    if (language === "http") return [];
    const answer = blocks[index + 1];
    if (answer?.language !== "http") throw new Error(`no answer is shown after a script below "${heading}"`);
    return [{ heading, script: code, shown: answer.code.trim().split("\n") }];
  });
}

/** What a reader would copy from the answer into the next request. */
function copied(answer: string, name: "id" | "fence"): string | undefined {
  return new RegExp(`"${name}":"?([\\w-]+)`).exec(answer)?.[1];
}

// What the page shows is curl: without one, or with one from before `--json`, there is nothing to run.
test.skipIf(!hasCurl)("every request of docs/http.md is answered as the page says", { timeout: 60_000 }, async () => {
  const cwd = temporaryFolder();
  const env = { API_KEY: `${KEY},reader:read:${READER}`, PORT: "0", MILLRACE_URL: "sqlite:jobs.db", LOG_LEVEL: "warn" };
  const server = startCli(["server"], { cwd, env });
  await server.said("/docs\n");
  const known: Record<string, string> = { MILLRACE: /API on (\S+)\/api\/v1/.exec(server.output.stderr)![1]!, KEY, READER };

  const steps = stepsOf(PAGE);
  expect(steps.length).toBeGreaterThan(30);
  for (const { heading, script, shown } of steps) {
    const { stdout } = await promisify(execFile)("sh", ["-euc", script], { cwd, env: plainEnvironment(known) });
    const answer = stdout.replaceAll("\r", "");
    for (const text of shown) expect(answer, `${heading}\n${script}`).toContain(text);
    known["ID"] = copied(answer, "id") ?? known["ID"] ?? "";
    known["FENCE"] = copied(answer, "fence") ?? known["FENCE"] ?? "";
  }
});
