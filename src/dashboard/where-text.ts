/** PAYLOAD FIELDS AS A TEXT, as the URL has them: `customer:globex`, several with commas between them. */
import { isField, readFieldValue } from "../core/facets.ts";

export type Where = Readonly<Record<string, string>>;

/** Null if a field or a value is not valid. */
export function readWhere(text: string): Where | null {
  // A comma in a value has a backslash before it, and so has a space at its end: other spaces there are only typed.
  const pairs = (text.match(/(?:[^,\\]|\\.)+/gs) ?? []).map((pair) => {
    return pair
      .trimStart()
      .replace(/(?<!\\)\s+$/, "")
      .replace(/\\(.)/gs, "$1");
  });
  const read = pairs.map((pair): [string, string] | null => {
    const colon = pair.indexOf(":");
    const [field, value] = [pair.slice(0, Math.max(0, colon)), readFieldValue(pair.slice(colon + 1))];
    return isField(field) && value !== undefined ? [field, value] : null;
  });
  return read.length === 0 || read.includes(null) ? null : Object.fromEntries(read as [string, string][]);
}

/** Undefined for none. */
export function writeWhere(where: Where): string | undefined {
  const pairs = Object.entries(where).map(([field, value]) => `${field}:${value}`.replace(/[\\,]|\s$/g, "\\$&"));
  return pairs.length === 0 ? undefined : pairs.join();
}

/** The text with one field set to a value, or without it. */
export function changeWhere(text: string | undefined, field: string, value: string | undefined): string | undefined {
  const { [field]: _, ...others } = text === undefined ? {} : (readWhere(text) ?? {});
  return writeWhere(value === undefined ? others : { ...others, [field]: value });
}
