// What `npm test` runs: the tests, and beside them the static checks. Its last line is always `N passed, N failed`.
// With arguments (`npm test -- test/unit/core`) only the tests run, and the arguments go to Vitest.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

interface StaticCheck {
  name: string;
  command: string;
  args: string[];
  /** What to do about a failure, if the output does not say it. */
  advice?: string;
}

interface Tally {
  passed: number;
  failed: number;
}

const root = fileURLToPath(new URL("..", import.meta.url));

// The whole run should take twelve minutes; on a busy machine it may take three times as long. This limit makes sure that a hanging test
// still gives a verdict.
const testLimitMs = 40 * 60_000;

// One after the other, beside the tests, from the start and with the same priority: what is left for the end has one core, and the other one waits.
// The packages come first: the types of the tests need them, and some tests wait for them.
// The package is compiled by test/e2e/package.test.ts, which builds it as a release does: no second time here.
// One checker: each of several looks at the same types anew.
const staticChecks: StaticCheck[] = [
  { name: "packages for the tests", command: "node", args: ["scripts/set-up.js", "--test-packages"] },
  { name: "types", command: "tsc", args: ["--noEmit", "--pretty", "false", "--checkers", "1"] },
  { name: "types of the dashboard", command: "tsc", args: ["-p", "src/dashboard", "--noEmit", "--pretty", "false", "--checkers", "1"] },
  { name: "lint", command: "oxlint", args: ["--threads=1"] },
  { name: "format", command: "oxfmt", args: ["--list-different", "--threads=1"], advice: "`npm run format` fixes it." },
  { name: "unused files, exports and dependencies", command: "knip", args: ["--no-progress", "--no-config-hints"] },
];

/** For the compilers, which are written in Go: one thread and few garbage collections take two thirds of the processor time. */
const sparing = { env: { GOMAXPROCS: "1", GOGC: "400" } };

const vitestArgs = process.argv.slice(2);
const staticResults = vitestArgs.length === 0 ? runStaticChecks() : Promise.resolve([]);
const tested = await runTests(vitestArgs);
report([...(await staticResults).map(tellStaticCheck), tested]);

interface StaticResult {
  check: StaticCheck;
  ok: boolean;
  output: string;
}

async function runStaticChecks(): Promise<StaticResult[]> {
  const results: StaticResult[] = [];
  for (const check of staticChecks) {
    const command = path.join(root, "node_modules", ".bin", check.command);
    results.push({ check, ...(await run(command, check.args, sparing)) });
  }
  return results;
}

/** After the tests: Vitest draws over what others print in a terminal. */
function tellStaticCheck({ check: { name, advice }, ok, output }: StaticResult): Tally {
  console.log(`${ok ? "ok    " : "FAILED"}  ${name}`);
  if (!ok) console.log([output.trim(), advice, ""].filter((part) => part !== undefined).join("\n"));
  return ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

async function runTests(args: string[]): Promise<Tally> {
  const folder = mkdtempSync(path.join(tmpdir(), "millrace-check-"));
  try {
    const reportFile = path.join(folder, "vitest.json");
    const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
    const { ok } = await run(process.execPath, [vitest, "run", ...reporters, ...args], { live: true, timeoutMs: testLimitMs });
    return countTests(reportFile, ok);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The parts of Vitest's JSON report that say how a run went. */
interface TestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { name: string; status: string; startTime: number; endTime: number; assertionResults: { status: string }[] }[];
}

function countTests(reportFile: string, ok: boolean): Tally {
  const found = readReport(reportFile);
  if (!found) {
    console.log("FAILED  tests: Vitest ended without a report");
    return { passed: 0, failed: 1 };
  }
  if (vitestArgs.length === 0) tellSlowest(found);
  const skipped = found.numPendingTests + found.numTodoTests;
  if (skipped > 0) console.log(`${skipped} tests skipped`);

  // A file that cannot be loaded has no failed tests, and neither does an error outside of tests: count them here.
  const broken = found.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  let failed = found.numFailedTests + broken.length;
  if (failed === 0 && found.numPassedTests === 0) {
    console.log("FAILED  tests: none ran");
    failed = 1;
  } else if (failed === 0 && !ok) {
    console.log("FAILED  tests: all passed, yet Vitest reports an error (see above)");
    failed = 1;
  }
  return { passed: found.numPassedTests, failed };
}

/** The first place to look when the whole run has become slow. */
function tellSlowest({ testResults }: TestReport): void {
  const files = testResults.map(({ name, startTime, endTime }) => ({ name: path.relative(root, name), ms: endTime - startTime }));
  files.sort((a, b) => b.ms - a.ms);
  console.log("The ten slowest files:");
  for (const { name, ms } of files.slice(0, 10)) console.log(`${(ms / 1000).toFixed(1).padStart(6)} s  ${name}`);
}

function readReport(reportFile: string): TestReport | undefined {
  try {
    return JSON.parse(readFileSync(reportFile, "utf8")) as TestReport;
  } catch {
    return undefined;
  }
}

function report(tallies: Tally[]): void {
  const passed = tallies.reduce((sum, tally) => sum + tally.passed, 0);
  const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0);
  process.exitCode = failed === 0 ? 0 : 1;
  console.log(`${passed} passed, ${failed} failed`);
}

interface RunOptions {
  live?: boolean;
  timeoutMs?: number;
  env?: Record<string, string>;
}

/** Runs a program to its end: `live` prints its output at once, otherwise it is collected. */
async function run(command: string, args: string[], options: RunOptions = {}): Promise<{ ok: boolean; output: string }> {
  const { live = false, timeoutMs = 0, env = {} } = options;
  const child = spawn(command, args, {
    cwd: root,
    stdio: ["ignore", live ? "inherit" : "pipe", live ? "inherit" : "pipe"],
    timeout: timeoutMs,
    env: { ...process.env, ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ ok: false, output: `${output}${error.message}` }));
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
}
