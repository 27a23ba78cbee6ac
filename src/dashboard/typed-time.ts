/** TIMES AS PEOPLE TYPE THEM: `2h` back from now, `2026-11-15`, `2026-11-15 10:00`. */
import { parseDuration } from "../core/duration.ts";

/** Swedish writes a time as people can type it here: `2026-11-15 10:00:00`, by the clock of the reader. */
const swedish = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });

const LOCAL = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{1,2}:\d{2}(?::\d{2})?))?$/;

/** The value for the URL: a span stays one, so that it moves with the clock; a time becomes ISO 8601. Null if it is neither. */
export function readTypedTime(text: string): string | null {
  const typed = text.trim();
  if (parseDuration(typed) !== null) return typed;
  const [, day = "", clock = "00:00"] = LOCAL.exec(typed) ?? [];
  const date = new Date(day === "" ? typed : `${day}T${clock.padStart(clock.length < 6 ? 5 : 8, "0")}`);
  if (Number.isNaN(date.getTime()) || !/^\d{4}-/.test(typed)) return null;
  // A date such as 31 February would silently be another.
  if (day !== "" && !typeable(date.getTime()).startsWith(day)) return null;
  return date.toISOString();
}

/** What the field shows for a value of the URL. */
export function typedTime(value: string): string {
  const ms = Date.parse(value);
  if (value === "" || parseDuration(value) !== null || Number.isNaN(ms)) return value;
  return typeable(ms).replace(/:00$/, "");
}

function typeable(ms: number): string {
  return swedish.format(ms);
}
