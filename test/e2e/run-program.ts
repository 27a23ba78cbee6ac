import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Where to say what must be tidied up when a test ends. Tests that run side by side must name their own. */
type AtTheEnd = (tidyUp: () => void) => void;

/** A folder that vanishes with the test. */
export function temporaryFolder(atTheEnd: AtTheEnd = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-"));
  atTheEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Program {
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly output: { stdout: string; stderr: string };
  /** Resolves when it has printed a text that contains this. Rejects when it ends first. */
  printed(text: string): Promise<void>;
  /** Resolves when it has ended. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface ProgramOptions {
  readonly cwd?: string;
  readonly atTheEnd?: AtTheEnd;
  readonly env?: Readonly<Record<string, string>>;
  /** By which Node finds "millrace". */
  readonly conditions?: readonly string[];
}

/** Starts a TypeScript program as a process of its own, with "millrace" meaning our sources, unless `conditions` say otherwise. It is killed with the test at the latest. */
export function startProgram(
  path: string,
  args: readonly string[] = [],
  { cwd = process.cwd(), atTheEnd = onTestFinished, env = {}, conditions = ["millrace-source"] }: ProgramOptions = {},
): Program {
  const flags = [...conditions.map((condition) => `--conditions=${condition}`), "--disable-warning=ExperimentalWarning"];
  const child = spawn(process.execPath, [...flags, path, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const output = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
      for (const listener of listeners) listener();
    });
  }
  const ended = once(child, "close").then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }));
  atTheEnd(() => void child.kill("SIGKILL"));
  return { child, output, ended, printed: (text) => whenPrinted(text, output, listeners, ended) };
}

/** What it said on stderr. On a busy machine a server may take a second to answer, and that is said, rightly. */
export function complaintsOf({ output }: Program): string {
  return output.stderr.replaceAll(/^millrace: cannot reach .* yet: no answer\. Trying for another .*\n/gm, "");
}

async function whenPrinted(text: string, output: Program["output"], listeners: Set<() => void>, ended: Promise<unknown>): Promise<void> {
  const seen = Promise.withResolvers<void>();
  const look = (): void => {
    if (output.stdout.includes(text)) seen.resolve();
  };
  listeners.add(look);
  look();
  const early = ended.then(() => {
    if (!output.stdout.includes(text))
      throw new Error(`the program ended before it printed "${text}":\n${output.stdout}\n${output.stderr}`);
  });
  await Promise.race([seen.promise, early]);
  listeners.delete(look);
}
