/**
 * JSON KEPT AS IT WAS WRITTEN. A double cannot hold 9007199254740993, and `JSON.stringify` writes -0 as 0 and 1.0 as 1. So JSON that arrives
 * as text (over HTTP, on the command line) is stored and returned as that text. Handlers in JavaScript get the parsed value.
 */

/** A value with its original text. `encodeJson` takes it in place of a value, `stringifyJson` writes its text. */
export class JsonText {
  /** JSON without surrounding space. */
  readonly text: string;
  /** The parsed value, with numbers as doubles. */
  readonly value: unknown;

  constructor(text: string, value: unknown) {
    this.text = text;
    this.value = value;
  }

  /** A placeholder within `stringifyJson`, which replaces it by the text; anywhere else the value. */
  toJSON(): unknown {
    if (gathered === null) return this.value;
    gathered.push(this.text);
    return placeholder;
  }
}

interface RawJson {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
}

/** An "A" as an escape: `JSON.stringify` never writes it that way, whatever the strings. */
const PLACEHOLDER = String.raw`"\u0041"`;
let placeholder: unknown;
let gathered: string[] | null = null;

/** The JSON of a value; for a JsonText, its text. */
export function jsonOf(value: unknown): string {
  return value instanceof JsonText ? value.text : JSON.stringify(value);
}

/** `JSON.stringify` that writes each JsonText within the value as its text. Takes three times as long. */
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

/** A number that JavaScript would write in another way than the original text. */
export class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value to show, with a WrittenNumber for each number that would look different. */
export function asWritten(value: unknown): unknown {
  return value instanceof JsonText ? reviveNumbers(value.text, (source) => new WrittenNumber(source)) : value;
}

/** JSON on several lines, with numbers as in the original text. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value instanceof JsonText ? exactValue(value.text) : value, null, 2);
}

/** The value of a text, which `JSON.stringify` writes with the numbers of the text. Throws if it is no JSON. */
export function exactValue(text: string): unknown {
  const { rawJSON } = JSON as unknown as Partial<RawJson>;
  return rawJSON === undefined ? JSON.parse(text) : reviveNumbers(text, rawJSON);
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number that `JSON.stringify` writes as this text; undefined if the text is none, or if it would be written in another way. */
export function numberAsWritten(text: string): unknown {
  if (!NUMBER.test(text)) return undefined;
  if (String(Number(text)) === text) return Number(text);
  return (JSON as unknown as Partial<RawJson>).rawJSON?.(text);
}

/** Whether a part of an `exactValue` is a number that no double holds as it was written. */
export function isExactNumber(value: unknown): boolean {
  return (JSON as unknown as Partial<RawJson>).isRawJSON?.(value) === true;
}

/** Parses a text and replaces each such number by what `revive` returns. Browsers that do not report the source text keep the double. */
function reviveNumbers(text: string, revive: (source: string) => unknown): unknown {
  const reviver = (_name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
    typeof value === "number" && source !== undefined && source !== String(value) ? revive(source) : value;
  return JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);
}

// ── The texts of a job ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Payload and result as stored. The value of a step is kept as a result. */
export interface BodyTexts {
  readonly payload: string;
  readonly result: string | null;
}

/** Outside of the jobs, so that their texts do not show up when a job is printed, compared or copied. */
const texts = new WeakMap<object, BodyTexts>();

/** Remembers the stored texts of a job or schedule as long as it is referenced; returns it. */
export function withTexts<Owner extends object>(owner: Owner, payload: string, result: string | null = null): Owner {
  texts.set(owner, { payload, result });
  return owner;
}

/** The payload with its text if known; otherwise the value alone. */
export function payloadOf(owner: { readonly payload: unknown }): unknown {
  const kept = texts.get(owner);
  return kept === undefined ? owner.payload : new JsonText(kept.payload, owner.payload);
}

/** The result with its text if known; otherwise the value alone. */
export function resultOf(owner: { readonly result: unknown }): unknown {
  const kept = texts.get(owner)?.result;
  return kept === undefined || kept === null ? owner.result : new JsonText(kept, owner.result);
}

/** The value of a step with its text if known; otherwise the value alone. */
export function valueOf(step: { readonly value: unknown }): unknown {
  const kept = texts.get(step)?.result;
  return kept === undefined || kept === null ? step.value : new JsonText(kept, step.value);
}
