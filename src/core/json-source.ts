/** READING JSON TEXT. If an object has the same name twice, `JSON.parse` silently takes the last; here the second is refused. */
import { MillraceError } from "./errors.ts";
import { plainName } from "./plain-name.ts";

/** Which fields to return as text: of the outermost object, or of each object in one of its lists. */
export interface TextPlace {
  /** The list whose objects have these fields; absent for the outermost object. */
  readonly list?: string;
  readonly fields: readonly string[];
}

export interface FieldText {
  readonly field: string;
  readonly text: string;
}

/** The value and the wanted texts, in order. Throws what `JSON.parse` throws, and `invalid_input` if an object has a name twice. */
export function parseJson(text: string, place: TextPlace | null = null): { value: unknown; texts: readonly FieldText[] } {
  const value: unknown = JSON.parse(text);
  const { names, texts } = scan(text, place);
  if (names !== countNames(value)) refuseTwice(text);
  return { value, texts };
}

/** The texts of the wanted fields, in a text that is known to be JSON. */
export function textsIn(text: string, place: TextPlace): readonly FieldText[] {
  return scan(text, place).texts;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** The depth of the fields of the outermost object, and of the objects in one of its lists. */
const OUTERMOST = 1;
const IN_A_LIST = 3;
const NOWHERE = -1;

/**
 * One pass over a text that is known to be JSON. Counts the names (each colon outside of a string follows one) and cuts out the wanted fields.
 * It copies nothing else, because it runs for every body.
 */
function scan(text: string, place: TextPlace | null): { names: number; texts: readonly FieldText[] } {
  const texts: FieldText[] = [];
  const wantedDepth = place === null ? NOWHERE : place.list === undefined ? OUTERMOST : IN_A_LIST;
  let names = 0;
  let depth = 0;
  let isInPlace = place?.list === undefined;
  let nameStart = 0;
  let nameEnd = 0;
  let field = "";
  let from = NOWHERE;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        nameStart = index;
        nameEnd = index = endOfString(text, index);
        break;
      case COLON:
        names++;
        if (place === null || depth > wantedDepth) break;
        if (depth === wantedDepth && isInPlace) {
          field = nameAt(text, nameStart, nameEnd);
          if (place.fields.includes(field)) from = index + 1;
        } else if (depth === OUTERMOST) isInPlace = nameAt(text, nameStart, nameEnd) === place.list;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
      case COMMA:
        if (from !== NOWHERE && depth === wantedDepth) {
          texts.push({ field, text: text.slice(from, index).trim() });
          from = NOWHERE;
        }
        if (text.charCodeAt(index) !== COMMA) depth--;
        break;
      default: // a number, a word, or space
    }
  }
  return { names, texts };
}

function nameAt(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end);
  return name.includes("\\") ? (JSON.parse(`"${name}"`) as string) : name;
}

/** The end of the string that begins at `start`: a quote after an even number of backslashes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
}

/** How many names `JSON.parse` kept. No recursion: JSON may nest deeper than the stack. */
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
  /** The name or index of the current value. */
  at: string | number;
}

/** A second pass, with paths, to find the name that occurs twice. */
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
  throw new MillraceError("invalid_input", "the same name is given twice in one object");
}

function pathOf({ path, at }: Level): string {
  if (typeof at === "number") return `${path}[${at}]`;
  return path === "" ? at : `${path}.${at}`;
}

function twice(path: string): MillraceError {
  const field = plainName(path);
  return new MillraceError("invalid_input", `${field} is given twice: give it once`, { field });
}
