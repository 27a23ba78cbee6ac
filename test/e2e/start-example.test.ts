// `npm start` proposes a line to try. It must work as it is printed.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { type RunningCli, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/handlers.ts", import.meta.url));

async function tryLine(cli: RunningCli): Promise<string> {
  await cli.said("try it: ");
  await cli.said("}'\n");
  return /try it: (.*)/.exec(cli.output.stderr)![1]!;
}

test.for([
  ["the example that the module names", EXAMPLES, { type: "email:send", result: { accepted: ["ann@example.com"] } }],
  ["else a job of its first type", "jobs.ts", { type: "tidy:up", result: "yes" }],
] as const)("the line works: %s", async ([, handlers, expected], { onTestFinished: atTheEnd }) => {
  const cwd = temporaryFolder(atTheEnd);
  writeFileSync(join(cwd, "jobs.ts"), `export default { "tidy:up": async () => "yes" };`);
  const cli = startCli(["start", "--handlers", handlers, "--port", "0"], { cwd, env: { LOG_LEVEL: "error" } });
  const line = await tryLine(cli);
  const { stdout } = await promisify(execFile)("bash", ["-c", line]);
  const { id } = JSON.parse(stdout) as { id: string };
  await using client = await connect(/curl (http:\/\/[^/]+)/.exec(line)![1]);
  expect(await client.wait(id)).toMatchObject(expected);
});

test("with keys nothing is proposed, as no key is printed", async () => {
  const cwd = temporaryFolder();
  const env = { LOG_LEVEL: "error", API_KEY: "a-key-that-is-long-enough-for-a-test" };
  const cli = startCli(["start", "--handlers", EXAMPLES, "--port", "0"], { cwd, env });
  await cli.said("/docs\n");
  cli.child.kill("SIGTERM");
  expect((await cli.ended).stderr).not.toContain("try it");
});
