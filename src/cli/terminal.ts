import type { Readable, Writable } from "node:stream";

/** The world around a command: the process, or a test. */
export interface Terminal {
  /** What was typed after the name of the program. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths start from. */
  readonly cwd: string;
  readonly stdin: Input;
  readonly stdout: Screen;
  readonly stderr: Screen;
}

/** Where a command reads from. */
export type Input = Readable & { readonly isTTY?: boolean; setRawMode?(mode: boolean): unknown };

/** Where a command writes to; a size is known only of a terminal. */
export type Screen = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/** The process that we are. */
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

/** Whether text on this screen may be coloured: NO_COLOR and FORCE_COLOR are asked before the screen is. */
export function mayColour({ env }: Terminal, screen: Screen, wanted: boolean | undefined): boolean {
  if (wanted !== undefined) return wanted;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  return screen.isTTY === true && env["TERM"] !== "dumb";
}

/** Whether the screen shows more than ASCII. Only a locale that says otherwise is believed: containers often have none. */
export function showsUnicode({ env }: Terminal): boolean {
  const locale = [env["LC_ALL"], env["LC_CTYPE"], env["LANG"]].find((value) => value !== undefined && value !== "");
  return locale === undefined || /utf-?8/i.test(locale);
}
