import type { Readable, Writable } from "node:stream";

/** The environment of a command: the process, or a test. */
export interface Terminal {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: Input;
  readonly stdout: Screen;
  readonly stderr: Screen;
}

/** Where a command reads from. */
export type Input = Readable & { readonly isTTY?: boolean; setRawMode?(mode: boolean): unknown };

/** Where a command writes to; only a terminal has a size. */
export type Screen = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

export function processTerminal(): Terminal {
  return {
    args: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
  };
}

/** Whether to use colours: a flag comes first, then FORCE_COLOR and NO_COLOR, then whether it is a terminal. */
export function mayColour({ env }: Terminal, screen: Screen, wanted: boolean | undefined): boolean {
  if (wanted !== undefined) return wanted;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  return screen.isTTY === true && env["TERM"] !== "dumb";
}

/** Whether to use more than ASCII. No locale means yes, because containers often have none. */
export function showsUnicode({ env }: Terminal): boolean {
  const locale = [env["LC_ALL"], env["LC_CTYPE"], env["LANG"]].find((value) => value !== undefined && value !== "");
  return locale === undefined || /utf-?8/i.test(locale);
}
