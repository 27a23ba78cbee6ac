/** Kinds of values that only one setting uses. */
import { readInteger } from "../core/read-fields.ts";
import { MAX_SLOTS } from "../core/work-limits.ts";
import type { Kind } from "./setting.ts";

type Concurrency = number | { readonly min: number; readonly max: number };

/** How many jobs at once: `20`, or `2-50` to grow and shrink. */
export const concurrency: Kind<Concurrency, Concurrency> = {
  mustBe: `a whole number from 1 to ${MAX_SLOTS}, or a range such as 2-50`,
  placeholder: "<slots>",
  read: (input) => {
    const given = typeof input === "string" ? readRange(input) : input;
    if (typeof given !== "object" || given === null) return readSlots(given);
    const [min, max] = [readSlots(given.min), readSlots(given.max)];
    return min === undefined || max === undefined || min > max ? undefined : { min, max };
  },
  show: (slots) => (typeof slots === "number" ? String(slots) : `${slots.min}-${slots.max}`),
};

function readRange(text: string): Concurrency | undefined {
  const [, min, max] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  if (min === undefined) return undefined;
  return max === undefined ? Number(min) : { min: Number(min), max: Number(max) };
}

function readSlots(input: unknown): number | undefined {
  return readInteger(input, 1, MAX_SLOTS);
}

export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

const PERIODS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };
const MAX_REQUESTS = 1_000_000_000;

export const rateLimit: Kind<RateLimit, RateLimit> = {
  mustBe: "a number of requests per second, minute or hour, such as 100/s, 1000/m or 5000/h",
  placeholder: "<rate>",
  read: (input) => {
    const { requests, perMs } = typeof input === "string" ? readRate(input) : input;
    const isSound = readInteger(requests, 1, MAX_REQUESTS) !== undefined && Object.values(PERIODS).includes(perMs);
    return isSound ? { requests, perMs } : undefined;
  },
  show: ({ requests, perMs }) => `${requests}/${Object.keys(PERIODS).find((unit) => PERIODS[unit] === perMs)}`,
};

function readRate(text: string): RateLimit {
  const [, requests, unit = ""] = /^(\d{1,10})\/(s|m|h)$/.exec(text) ?? [];
  return { requests: Number(requests ?? NaN), perMs: PERIODS[unit] ?? 0 };
}
