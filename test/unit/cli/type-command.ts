import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { run } from "../../../src/cli/run.ts";
import type { Input, Screen, Terminal } from "../../../src/cli/terminal.ts";

/** A screen that remembers what was written. */
export class FakeScreen extends Writable {
  text = "";
  readonly isTTY: boolean;
  columns: number;
  rows: number;

  constructor({ isTTY = false, columns = 80, rows = 24 }: { isTTY?: boolean; columns?: number; rows?: number } = {}) {
    super();
    this.isTTY = isTTY;
    this.columns = columns;
    this.rows = rows;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString("utf8");
    done();
  }
}

/** A folder that vanishes with the test. */
export function folderOfOwn(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Around {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
  /** Whether a person sits there; their answers are `input`. */
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The world around a command, as a test wants it. */
export function fakeTerminal(
  args: readonly string[],
  around: Around,
): Terminal & { readonly stdout: FakeScreen; readonly stderr: FakeScreen } {
  const { cwd = folderOfOwn(), env = {}, input = "", isTTY = false, columns = 80 } = around;
  const stdin: Input = Object.assign(Readable.from(input.length === 0 ? [] : [Buffer.from(input as string)]), { isTTY });
  const screen = (): FakeScreen & Screen => new FakeScreen({ isTTY, columns });
  return { args, env, cwd, stdin, stdout: screen(), stderr: screen() };
}

/** Runs a command in this process, as if it had been typed. */
export async function typeCommand(args: readonly string[], around: Around = {}): Promise<{ code: number; stdout: string; stderr: string }> {
  const terminal = fakeTerminal(args, around);
  const here = process.cwd();
  // A store looks for a file from the folder of the process.
  process.chdir(terminal.cwd);
  try {
    const code = await run(terminal);
    return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text };
  } finally {
    process.chdir(here);
  }
}
