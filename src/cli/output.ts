/** OUTPUT OF COMMANDS: data on stdout, as tables for people or JSON lines for programs; messages on stderr. */
import { styleText } from "node:util";
import type { Failure } from "./failure.ts";
import { safeLine } from "../core/safe-line.ts";
import { safeJson } from "./safe-text.ts";
import { padToWidth } from "./text-width.ts";
import { type Column, layOut, type Style } from "./table.ts";
import { mayColour, type Screen, showsUnicode, type Terminal } from "./terminal.ts";

/** The column of names in lines of `fact`. */
export const FACT_WIDTH = 10;

/** Flags that change the output. */
export interface OutputOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly color?: boolean | undefined;
}

/** Prints for a command. Makes all text safe before it is printed. */
export class Output {
  readonly json: boolean;
  readonly unicode: boolean;
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;
  readonly #coloursData: boolean;
  readonly #coloursMessages: boolean;

  constructor(terminal: Terminal, { json = false, quiet = false, color }: OutputOptions) {
    this.json = json;
    this.unicode = showsUnicode(terminal);
    this.#terminal = terminal;
    this.#isQuiet = quiet;
    this.#coloursData = mayColour(terminal, terminal.stdout, color);
    this.#coloursMessages = mayColour(terminal, terminal.stderr, color);
  }

  /** The end of a text that was cut. */
  get mark(): string {
    return this.unicode ? "…" : "...";
  }

  /** One line of data. */
  line(text: string, style?: Style): void {
    this.#write(this.#terminal.stdout, this.paint(safeLine(text), style));
  }

  /** Lines that are already safe and coloured. */
  painted(lines: readonly string[]): void {
    for (const line of lines) this.#write(this.#terminal.stdout, line);
  }

  /** One value for a program. */
  value(value: unknown): void {
    this.#write(this.#terminal.stdout, safeJson(value));
  }

  /** A table; on a terminal cut to its width. */
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
    this.painted(layOut(columns, rows, { width: this.width(), mark: this.mark, paint: (text, style) => this.paint(text, style) }));
  }

  /** Items as JSON lines or as a table, or a message if there are none. */
  items<Item>(items: readonly Item[], toJson: (item: Item) => unknown, columns: readonly Column<Item>[], none: string): void {
    if (this.json) for (const item of items) this.value(toJson(item));
    else if (items.length === 0) this.message(none);
    else this.table(columns, items);
  }

  /** A name and its value, on one line. */
  fact(name: string, value: string, style?: Style, nameWidth: number = FACT_WIDTH): void {
    this.#write(this.#terminal.stdout, `${this.paint(padToWidth(safeLine(name), nameWidth), "dim")} ${this.paint(safeLine(value), style)}`);
  }

  /** A name and lines of text below it; the lines must be safe. */
  block(name: string, lines: readonly string[]): void {
    if (lines.length === 1) return this.fact(name, lines[0]!);
    this.#write(this.#terminal.stdout, this.paint(name, "dim"));
    for (const line of lines) this.#write(this.#terminal.stdout, `  ${line}`);
  }

  /** A message, unless `--quiet` was given. */
  message(text: string): void {
    if (!this.#isQuiet) this.#write(this.#terminal.stderr, safeLine(text));
  }

  /** A warning, also with `--quiet`. */
  warn(text: string): void {
    this.#write(
      this.#terminal.stderr,
      this.#coloursMessages ? styleText("yellow", safeLine(text), { validateStream: false }) : safeLine(text),
    );
  }

  /** Why the command failed: a line for people, or a value for programs. */
  fail({ message, code, field, exitCode }: Failure): void {
    if (this.json) return this.#write(this.#terminal.stderr, safeJson({ error: { code, message, field, exit_code: exitCode } }));
    const line = `millrace: ${safeLine(message)}`;
    this.#write(this.#terminal.stderr, this.#coloursMessages ? styleText("red", line, { validateStream: false }) : line);
  }

  /** Colours the text, if colours are on. */
  paint(text: string, style?: Style): string {
    return style === undefined || !this.#coloursData ? text : styleText(style, text, { validateStream: false });
  }

  /** Columns of the terminal; infinite if the output is none. */
  width(): number {
    const { isTTY, columns } = this.#terminal.stdout;
    return isTTY === true && columns !== undefined && columns > 0 ? columns : Infinity;
  }

  /** Whether to show progress: stderr is a terminal, and neither `--quiet` nor `--json` was given. */
  showsProgress(): boolean {
    return this.#terminal.stderr.isTTY === true && !this.#isQuiet && !this.json;
  }

  #write(screen: Screen, line: string): void {
    screen.write(`${line}\n`);
  }
}
