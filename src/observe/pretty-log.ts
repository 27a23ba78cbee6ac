/** THE LOG FOR PEOPLE: what a terminal shows instead of JSON. One line for each fact, with its error below. */
import { styleText } from "node:util";
import { safeLine } from "../core/safe-line.ts";

type Style = Extract<Parameters<typeof styleText>[0], string>;

const STYLES: Readonly<Record<string, Style>> = { debug: "gray", info: "green", warn: "yellow", error: "red", fatal: "red" };

/** Fields that every line has, or that are shown in another way. */
const NOT_AGAIN: ReadonlySet<string> = new Set(["level", "time", "pid", "hostname", "msg", "error"]);

/** A line of JSON as `17:05:09 INFO  request  method=GET status=200`. Anything else stays as it is. */
export function prettyLine(line: string, isColoured: boolean): string {
  const fields = parse(line);
  if (fields === null) return line;
  const { level, time, msg, error } = fields as { level: string; time: string; msg?: string; error?: { stack?: string; message?: string } };
  const paint = (style: Style, text: string): string => (isColoured ? styleText(style, text, { validateStream: false }) : text);
  const facts = Object.entries(fields).flatMap(([name, value]) =>
    NOT_AGAIN.has(name) || value === null ? [] : [`${paint("dim", `${safeLine(name)}=`)}${textOf(value)}`],
  );
  const head = `${paint("dim", clockTime(time))} ${paint(STYLES[level] ?? "reset", level.toUpperCase().padEnd(5))} ${safeLine(msg ?? "")}`;
  const below = error === undefined ? [] : oneByOne(error.stack ?? error.message ?? "");
  return [[head, ...facts].join("  "), ...below.map((each) => paint("dim", `    ${each}`))].join("\n") + "\n";
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const fields = JSON.parse(line) as unknown;
    return typeof fields === "object" && fields !== null && "level" in fields && "time" in fields ? { ...fields } : null;
  } catch {
    return null;
  }
}

/** The local time of day. */
function clockTime(time: string): string {
  return new Date(time).toTimeString().slice(0, 8);
}

function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return safeLine(text === "" || /[\s"=]/.test(text) ? JSON.stringify(text) : text);
}

function oneByOne(text: string): string[] {
  return text.split("\n").map((line) => safeLine(line.trim()));
}
