/** BYTES TO JSON. `JSON.parse` alone takes the last of two equal names in silence; here the second is refused. */
import { isUtf8 } from "node:buffer";
import { MillraceError, preview } from "../core/errors.ts";
import { plainName } from "./plain-name.ts";
import { WireError } from "./problem.ts";

/** The value that the bytes hold. Throws `malformed_body`, or `invalid_input` where a name stands twice in one object. */
export function readJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new WireError("malformed_body", "the body is not UTF-8");
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const value = parse(text);
  if (countColons(text) !== countNames(value)) refuseTwice(text);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new WireError("malformed_body", `the body is not JSON: ${preview((error as Error).message)}`);
  }
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

/** How many names the text gives: each is followed by the only colons that stand outside of strings. The text is known to be JSON. */
function countColons(text: string): number {
  let colons = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === COLON) colons++;
    else if (unit === QUOTE) index = endOfString(text, index);
  }
  return colons;
}

/** Where the string ends that begins at `start`: at a quote before which stands an even number of backslashes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
}

/** How many names are left of them. Not by recursion: JSON may nest deeper than the stack. */
function countNames(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let names = 0;
  const open: object[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) {
      for (const item of next as unknown[]) if (typeof item === "object" && item !== null) open.push(item);
      continue;
    }
    for (const name in next) {
      names++;
      const inner = (next as Record<string, unknown>)[name];
      if (typeof inner === "object" && inner !== null) open.push(inner);
    }
  }
  return names;
}

interface Level {
  /** Names seen in this object; null in an array. */
  readonly names: Set<string> | null;
  readonly path: string;
  /** The name, or the index, of the value that is being read. */
  at: string | number;
}

/** Walks the text once more, now with paths, to say which name stands twice. */
function refuseTwice(text: string): never {
  const levels: Level[] = [];
  let string = "";
  for (let index = 0; index < text.length; index++) {
    const level = levels.at(-1);
    switch (text[index]) {
      case "{":
        levels.push({ names: new Set(), path: level === undefined ? "" : pathOf(level), at: "" });
        break;
      case "[":
        levels.push({ names: null, path: level === undefined ? "" : pathOf(level), at: 0 });
        break;
      case "}":
      case "]":
        levels.pop();
        break;
      case ",":
        if (typeof level?.at === "number") level.at++;
        break;
      case '"': {
        const end = endOfString(text, index);
        string = text.slice(index, end + 1);
        index = end;
        break;
      }
      case ":": {
        const name = JSON.parse(string) as string;
        level!.at = name;
        if (level!.names!.has(name)) throw twice(pathOf(level!));
        level!.names!.add(name);
        break;
      }
      default: // a number, a word, or space
    }
  }
  throw new WireError("malformed_body", "the body gives a name twice");
}

function pathOf({ path, at }: Level): string {
  if (typeof at === "number") return `${path}[${at}]`;
  return path === "" ? at : `${path}.${at}`;
}

function twice(path: string): MillraceError {
  const field = plainName(path);
  return new MillraceError("invalid_input", `${field} is given twice: give it once`, { field });
}
