/**
 * JSON THAT IS KEPT AS IT WAS WRITTEN. A double cannot hold 9007199254740993, and `JSON.stringify` writes -0 as 0 and 1.0 as 1. So what comes
 * in as text (over HTTP, on the command line) is stored as that text, and goes out as the text that is stored. Handlers in JavaScript get the
 * value, as ever.
 */

/** A value with the text that it was read from. `encodeJson` takes it in place of a value, `stringifyJson` writes its text. */
export class JsonText {
  /** JSON without space around it. */
  readonly text: string;
  /** What it says, in doubles. */
  readonly value: unknown;

  constructor(text: string, value: unknown) {
    this.text = text;
    this.value = value;
  }

  /** Within `stringifyJson` a placeholder, for which the text is put in later; anywhere else the value. */
  toJSON(): unknown {
    if (gathered === null) return this.value;
    gathered.push(this.text);
    return placeholder;
  }
}

interface RawJson {
  rawJSON(text: string): unknown;
}

/** An "A" written as an escape: `JSON.stringify` never writes one so, whatever strings it is given. */
const PLACEHOLDER = String.raw`"\u0041"`;
let placeholder: unknown;
let gathered: string[] | null = null;

/** The JSON of a value: that of a JsonText is its text. */
export function jsonOf(value: unknown): string {
  return value instanceof JsonText ? value.text : JSON.stringify(value);
}

/** `JSON.stringify`, but for each JsonText at any place within, which is written as its text. It takes three times as long. */
export function stringifyJson(value: unknown): string {
  placeholder ??= (JSON as unknown as RawJson).rawJSON(PLACEHOLDER);
  const texts: string[] = [];
  gathered = texts;
  try {
    const written = JSON.stringify(value);
    return texts.length === 0 ? written : fill(written, texts);
  } finally {
    gathered = null;
  }
}

function fill(written: string, texts: readonly string[]): string {
  let filled = "";
  let from = 0;
  for (const text of texts) {
    const at = written.indexOf(PLACEHOLDER, from);
    filled += written.slice(from, at) + text;
    from = at + PLACEHOLDER.length;
  }
  return filled + written.slice(from);
}

// ── For people ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A number that JavaScript would write otherwise than it was written. */
export class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value to be shown, with a WrittenNumber for each number that it would show otherwise. */
export function asWritten(value: unknown): unknown {
  return value instanceof JsonText ? reviveNumbers(value.text, (source) => new WrittenNumber(source)) : value;
}

/** JSON over several lines, with its numbers as they were written. */
export function prettyJson(value: unknown): string {
  const { rawJSON } = JSON as unknown as Partial<RawJson>;
  const isKept = value instanceof JsonText && rawJSON !== undefined;
  return JSON.stringify(isKept ? reviveNumbers(value.text, rawJSON) : value, null, 2);
}

/** Reads a text, and asks what to put in the place of each such number. A browser that is too old to tell how it was written has its double. */
function reviveNumbers(text: string, revive: (source: string) => unknown): unknown {
  const reviver = (_name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
    typeof value === "number" && source !== undefined && source !== String(value) ? revive(source) : value;
  return JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);
}

// ── The texts of a job ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Payload and result as they are stored. */
export interface BodyTexts {
  readonly payload: string;
  readonly result: string | null;
}

/** Beside the jobs, not in them: nobody who looks at a job, compares or copies it should meet its bodies a second time. */
const texts = new WeakMap<object, BodyTexts>();

/** Remembers the stored texts of a job or schedule for as long as it is held, and hands it on. */
export function withTexts<Owner extends object>(owner: Owner, payload: string, result: string | null = null): Owner {
  texts.set(owner, { payload, result });
  return owner;
}

/** The payload with its text, where that is known; else the value alone. */
export function payloadOf(owner: { readonly payload: unknown }): unknown {
  const kept = texts.get(owner);
  return kept === undefined ? owner.payload : new JsonText(kept.payload, owner.payload);
}

/** The result with its text, where that is known; else the value alone. */
export function resultOf(owner: { readonly result: unknown }): unknown {
  const kept = texts.get(owner)?.result;
  return kept === undefined || kept === null ? owner.result : new JsonText(kept, owner.result);
}
