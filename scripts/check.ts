// What `npm test` runs: the static checks side by side, then the tests. Its last line is always `N passed, N failed`.
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

// The whole run should take ten minutes; on a busy machine it may take three times as long. This limit makes sure that a hanging test still
// gives a verdict.
const testLimitMs = 40 * 60_000;

// The package is compiled by test/e2e/package.test.ts, which builds it as a release does: no second time here.
const staticChecks: StaticCheck[] = [
  { name: "types", command: "tsc", args: ["--noEmit", "--pretty", "false"] },
  { name: "types of the dashboard", command: "tsc", args: ["-p", "src/dashboard", "--noEmit", "--pretty", "false"] },
  { name: "lint", command: "oxlint", args: [] },
  { name: "format", command: "prettier", args: ["--check", "--log-level", "warn", "."], advice: "`npm run format` fixes it." },
  { name: "unused files, exports and dependencies", command: "knip", args: ["--no-progress", "--no-config-hints"] },
];

const vitestArgs = process.argv.slice(2);
const tallies = [...(vitestArgs.length === 0 ? await runStaticChecks() : []), await runTests(vitestArgs)];
report(tallies);

async function runStaticChecks(): Promise<Tally[]> {
  return Promise.all(staticChecks.map(runStaticCheck));
}

async function runStaticCheck({ name, command, args, advice }: StaticCheck): Promise<Tally> {
  const startedAt = performance.now();
  const { ok, output } = await run(path.join(root, "node_modules", ".bin", command), args);
  console.log(`${ok ? "ok    " : "FAILED"}  ${name} (${seconds(startedAt)})`);
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

/** Runs a program to its end: `live` prints its output at once, otherwise it is collected. */
async function run(command: string, args: string[], { live = false, timeoutMs = 0 } = {}): Promise<{ ok: boolean; output: string }> {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ["ignore", live ? "inherit" : "pipe", live ? "inherit" : "pipe"],
    timeout: timeoutMs,
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

function seconds(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}
