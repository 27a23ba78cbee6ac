import { createHash } from "node:crypto";

/**
 * What makes two jobs under one idempotency key the same: SHA-256 of type and canonical JSON payload. Priority, delay and the rest do
 * not matter.
 */
export function fingerprint(type: string, payload: string): string {
  return createHash("sha256").update(type).update("\n").update(canonicalText(payload)).digest("base64url");
}

/** The canonical JSON of a text. Numbers count by their exact decimal value: 1.0 and 1 are one, 9007199254740993 and …992 are two. */
export function canonicalText(text: string): string {
  return canonicalJson(MAY_BE_INEXACT.test(text) ? JSON.parse(text, exactNumber as Parameters<typeof JSON.parse>[1]) : JSON.parse(text));
}

/** Whole numbers of up to 15 digits are what their doubles print. What only looks like a number, in a string, costs time and no more. */
const MAY_BE_INEXACT = /\d{16}|\d[.eE]/;

/** A number that no double is, in its canonical form. */
class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The number as its double prints it, where that is its exact value: so it was before, and stored fingerprints stay what they are. */
function exactNumber(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== "number" || source === undefined) return value;
  const decimal = decimalOf(source);
  return decimal === decimalOf(String(value)) ? value : new ExactNumber(decimal);
}

/** Sign, digits without zeros around them, and the power of ten: one form for each value. */
function decimalOf(number: string): string {
  const [, sign = "", whole = "", fraction = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e\+?(-?\d+))?$/i.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  let end = digits.length;
  // Not by an expression: one that looks for zeros at the end is slow where there are many elsewhere.
  while (digits.charAt(end - 1) === "0") end--;
  if (end === 0) return "0";
  return `${sign}${digits.slice(0, end)}e${BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - end)}`;
}

/** JSON with the keys of every object in order, so that {a, b} and {b, a} are one. */
export function canonicalJson(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
    return `{${fields.join(",")}}`;
  }
  return JSON.stringify(value);
}
