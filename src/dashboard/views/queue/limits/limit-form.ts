/** THE FORMS OF LIMITS: every field as text, and the same as the API takes it. The client checks everything; its answer names the field. */
import { MillraceError } from "../../../../core/errors.ts";
import type { LimitOptions, OneKeyLimitOptions } from "../../../../core/limits.ts";

/** The fields of one set of limits. Empty: no limit, or for a single key the same limit as for every key. */
export interface LimitForm {
  readonly running: string;
  readonly rate: string;
  readonly burst: string;
  readonly waiting: string;
  readonly weight: string;
}

export type LimitField = keyof LimitForm;

/** The limits of a queue and of each key in it. */
export interface QueueLimitForm {
  readonly queue: LimitForm;
  readonly perKey: LimitForm;
}

export const EMPTY_FORM: LimitForm = { running: "", rate: "", burst: "", waiting: "", weight: "" };

/** What one types so that a key has no limit where every other key has one. */
export const NONE = "none";

export function formOfQueue(limits: LimitOptions | null): QueueLimitForm {
  const { perKey, ...ofQueue } = limits ?? {};
  return { queue: formOf(ofQueue, ""), perKey: formOf(perKey ?? {}, "") };
}

export function formOfKey(own: OneKeyLimitOptions | null): LimitForm {
  return formOf(own ?? {}, NONE);
}

/** `none` is the text of a limit that is null. */
function formOf({ running, rate, burst, waiting, weight }: OneKeyLimitOptions, none: string): LimitForm {
  const text = (value: number | string | null | undefined): string => (value === undefined ? "" : value === null ? none : String(value));
  // A burst of 1 is what one gets without saying so.
  return { running: text(running), rate: text(rate), burst: burst === 1 ? "" : text(burst), waiting: text(waiting), weight: text(weight) };
}

/** Null if every field is empty. */
export function queueLimitsIn({ queue, perKey }: QueueLimitForm): LimitOptions | null {
  const limits = { ...limitsIn(queue), perKey: limitsIn(perKey) };
  return isEmpty(queue) && isEmpty(perKey) ? null : limits;
}

export function limitsIn({ running, rate, burst, waiting, weight }: LimitForm): OneKeyLimitOptions {
  const given = {
    running: orNone(running, numberIn),
    rate: orNone(rate, (text) => text),
    burst: numberIn(burst),
    waiting: orNone(waiting, numberIn),
    weight: numberIn(weight),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

export function isEmpty(form: LimitForm): boolean {
  return Object.values(form).every((text: string) => text.trim() === "");
}

function orNone<Value>(text: string, read: (text: string) => Value): Value | null | undefined {
  if (text.trim() === "") return undefined;
  return text.trim().toLowerCase() === NONE ? null : read(text.trim());
}

const NUMBER = /^(\d+|\d{1,3}(,\d{3})+)$/;

/** The number, as the page writes it or without commas. A text that is no number is handed on as it is, so that who refuses it can name it. */
export function numberIn(text: string): number | undefined {
  const typed = text.trim();
  if (typed === "") return undefined;
  return NUMBER.test(typed) ? Number(typed.replaceAll(",", "")) : (typed as unknown as number);
}

/** Which field was refused, and why; null if the error is about something else. */
export interface Refusal {
  readonly of: "queue" | "perKey";
  readonly field: LimitField;
  readonly problem: string;
}

const FIELD = /^(?:limits\.)?(perKey\.)?(running|rate|burst|waiting|weight)$/;

/** The error of the client names the field as a path: `limits.perKey.rate`. In a form, nobody types null. */
export function refusalOf(error: unknown): Refusal | null {
  if (!(error instanceof MillraceError) || error.field === undefined) return null;
  const [, inKeys, field] = FIELD.exec(error.field) ?? [];
  if (field === undefined) return null;
  const words = error.message.startsWith(`${error.field} `) ? error.message.slice(error.field.length + 1) : error.message;
  const said = words.replace(", or null for no limit", "");
  const problem = `${said.charAt(0).toUpperCase()}${said.slice(1)}.`;
  return { of: inKeys === undefined ? "queue" : "perKey", field: field as LimitField, problem };
}
