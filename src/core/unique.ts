import { createHash } from "node:crypto";

/** What makes two jobs with the same idempotency key equal: the SHA-256 of type and canonical JSON payload. Other options do not matter. */
export function fingerprint(type: string, payload: string): string {
  return createHash("sha256").update(type).update("\n").update(canonicalText(payload)).digest("base64url");
}

/** The canonical JSON of a text. Numbers compare by their exact decimal value: 1.0 equals 1, 9007199254740993 differs from …992. */
export function canonicalText(text: string): string {
  return canonicalJson(MAY_BE_INEXACT.test(text) ? JSON.parse(text, exactNumber as Parameters<typeof JSON.parse>[1]) : JSON.parse(text));
}

/** Whole numbers of up to 15 digits print as their doubles do. A match inside a string only costs time. */
const MAY_BE_INEXACT = /\d{16}|\d[.eE]/;

/** A number that a double cannot hold, in canonical form. */
class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Keeps the double if it has the exact value, so that stored fingerprints stay valid. */
function exactNumber(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== "number" || source === undefined) return value;
  const decimal = decimalOf(source);
  return decimal === decimalOf(String(value)) ? value : new ExactNumber(decimal);
}

/** Sign, digits without leading and trailing zeros, and the power of ten: one form for each value. */
function decimalOf(number: string): string {
  const [, sign = "", whole = "", fraction = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e\+?(-?\d+))?$/i.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  let end = digits.length;
  // No regular expression: one for trailing zeros is slow if there are many zeros elsewhere.
  while (digits.charAt(end - 1) === "0") end--;
  if (end === 0) return "0";
  return `${sign}${digits.slice(0, end)}e${BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - end)}`;
}

/** JSON with sorted keys, so that {a, b} equals {b, a}. */
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
