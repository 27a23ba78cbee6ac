import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { run } from "../../src/cli/run.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What Node is given to run the command line from its sources. */
export const CLI = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning", join(root, "src/cli/main.ts")];

/** The environment of a user who has set nothing of ours. Compiled code is kept beside the packages, not in the home of who runs the tests. */
export function plainEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = "", HOME = "", TMPDIR, TERM } = process.env;
  return {
    PATH,
    HOME,
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
    ...(TERM === undefined ? {} : { TERM }),
    NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"),
    ...more,
  };
}

/** How a command ended, and what it said. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs. */
export interface RunningCli {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it has said so far. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** Resolves when this was said on stderr or stdout; rejects when the command ends first. */
  said(text: string): Promise<void>;
}

export interface CliOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What is piped in. */
  readonly input?: string;
}

/** Starts a command as a process of its own. It is killed with the test at the latest, unless `outlives` says that somebody else does that. */
export function startCli(args: readonly string[], { cwd, env, input = "" }: CliOptions, outlives = false): RunningCli {
  const child = spawn(process.execPath, [...CLI, ...args], { cwd, env: plainEnvironment(env), stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {}); // a command that reads no input may be gone by now
  child.stdin.end(input);
  const said = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (words: string) => {
      said[stream] += words;
      for (const listener of listeners) listener();
    });
  }
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...said }));
  if (!outlives) onTestFinished(() => void child.kill("SIGKILL"));
  return {
    child,
    ended,
    output: said,
    async said(wanted) {
      const seen = Promise.withResolvers<void>();
      const look = (): void => {
        if (said.stdout.includes(wanted) || said.stderr.includes(wanted)) seen.resolve();
      };
      listeners.add(look);
      look();
      const tooEarly = ended.then(() => {
        look();
        seen.reject(new Error(`the command ended before it said "${wanted}":\n${said.stdout}\n${said.stderr}`));
      });
      await Promise.race([seen.promise, tooEarly]);
      listeners.delete(look);
    },
  };
}

/** Runs a command to its end. */
export function runCli(args: readonly string[], options: CliOptions): Promise<Ended> {
  return startCli(args, options).ended;
}

/** Runs a command to its end in this process: a tenth of the time, where what is tried is the command and not its process. */
export async function runCliHere(args: readonly string[], { cwd, env, input = "" }: CliOptions): Promise<Ended> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([text(stdout), text(stderr)]);
  const code = await run({ args, env: plainEnvironment(env), cwd, stdin: Readable.from(input === "" ? [] : [input]), stdout, stderr });
  stdout.end();
  stderr.end();
  const [out, err] = await said;
  return { code, stdout: out, stderr: err };
}
