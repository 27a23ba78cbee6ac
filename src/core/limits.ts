/**
 * LIMITS: how many jobs of a queue, and of each limit key, may run at once and start in a time. The store checks and takes them inside the claim.
 * This file says which limits there are, how they are read, stored and shown, and which of them apply to a key.
 */
import { invalid } from "./errors.ts";
import { MAX_RATE_UNITS, type Rate, RATE_RULE, rateInWords, readRate } from "./rate.ts";
import { readFields, readInteger } from "./read-fields.ts";
import { remembered } from "./remembered.ts";

export const MAX_LIMIT_KEY_BYTES = 255;
export const MAX_COST = 1_000_000;
export const MAX_WEIGHT = 100;
export const USUAL_WEIGHT = 1;
export const MAX_RUNNING_LIMIT = 1_000_000;
export const MAX_WAITING_LIMIT = 1_000_000_000;
/** How many of its busiest keys are shown of a queue, and how many keys can be asked for at once. */
export const BUSIEST_KEYS = 10;
export const MAX_ASKED_KEYS = 100;
/** How many running or waiting jobs of one limit key are counted. */
export const MAX_COUNTED_OF_KEY = 10_000;

/** What starts may be held to. Null: no such limit. */
export interface StartLimits {
  /** Leases at once. */
  readonly running: number | null;
  readonly rate: Rate | null;
}

/** The limits of each key of a queue. */
export interface PerKeyLimits extends StartLimits {
  /** How many jobs of a key may wait: pending, scheduled and retrying. */
  readonly waiting: number | null;
}

/** The limits of a queue, as engines apply them. */
export interface QueueLimits extends StartLimits {
  readonly perKey: PerKeyLimits;
}

/** The limits of one key, which replace those of the queue where they are given. `null` means no limit; what is absent is as for every key. */
export interface KeyLimits extends Partial<PerKeyLimits> {
  /** How many turns the key gets in comparison with others. */
  readonly weight?: number;
}

/** What applies to a key. */
export interface EffectiveLimits extends PerKeyLimits {
  readonly weight: number;
}

const NO_START_LIMITS: StartLimits = { running: null, rate: null };
const NO_KEY_LIMITS: PerKeyLimits = { ...NO_START_LIMITS, waiting: null };
export const NO_LIMITS: QueueLimits = { ...NO_START_LIMITS, perKey: NO_KEY_LIMITS };

const MOST_REMEMBERED = 1000;
const queueLimits = new Map<string, QueueLimits>();
const keyLimits = new Map<string, KeyLimits>();
const NONE: KeyLimits = {};

/** The limits of a queue from their stored JSON. Engines ask at every claim, so texts are remembered. */
export function decodeLimits(stored: string | null): QueueLimits {
  return stored === null ? NO_LIMITS : remembered(queueLimits, MOST_REMEMBERED, stored, () => JSON.parse(stored) as QueueLimits);
}

/** The limits of a key from their stored JSON. */
export function decodeKeyLimits(stored: string | null): KeyLimits {
  return stored === null ? NONE : remembered(keyLimits, MOST_REMEMBERED, stored, () => JSON.parse(stored) as KeyLimits);
}

/** What applies to a key with these limits of its own. A job without a key has only a weight. */
export function limitsOfKey(queue: QueueLimits, key: string | null, own: KeyLimits): EffectiveLimits {
  const { weight = USUAL_WEIGHT, ...limits } = own;
  return key === null ? { ...NO_KEY_LIMITS, weight } : { ...queue.perKey, ...limits, weight };
}

/** Whether a key needs to be looked at when one of its jobs starts, besides its turn. */
export function isLimited({ running, rate }: StartLimits): boolean {
  return running !== null || rate !== null;
}

// ── Reading ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const START_NAMES = ["running", "rate", "burst"] as const;
const KEY_NAMES = [...START_NAMES, "waiting"] as const;
const OVERRIDE_NAMES = [...KEY_NAMES, "weight"] as const;

export const LIMITS_RULE = "an object with running, rate, burst and perKey, or null for no limits";

/** The limits of a queue, as callers give and get them. */
export interface LimitOptions {
  /** How many jobs of the queue may run at once, over all workers. */
  readonly running?: number | null | undefined;
  /** How many may start in a time: "100/s", "20/10s", "5000/h". */
  readonly rate?: string | null | undefined;
  /** How many units of the rate may start at once after a rest; 1 by default, so starts are spread evenly. */
  readonly burst?: number | undefined;
  /** The same for each limit key. */
  readonly perKey?: KeyLimitOptions | null | undefined;
}

/** The limits of each key, as callers give and get them. */
export interface KeyLimitOptions {
  /** How many jobs of a key may run at once. */
  readonly running?: number | null | undefined;
  /** How many jobs of a key may start in a time. */
  readonly rate?: string | null | undefined;
  /** How many units of the rate may start at once after a rest. */
  readonly burst?: number | undefined;
  /** How many jobs of a key may wait: pending, scheduled and retrying. More are refused. */
  readonly waiting?: number | null | undefined;
}

/** The limits of one key, as callers give and get them. */
export interface OneKeyLimitOptions extends KeyLimitOptions {
  /** How many turns the key gets in comparison with others: 1 to 100, 1 by default. */
  readonly weight?: number | undefined;
}

/** Reads the limits of a queue, in stored form; null if there are none. Throws `invalid_input`. */
export function readLimits(input: unknown): string | null {
  if (input === null) return null;
  const given = readFields(input, "limits", [...START_NAMES, "perKey"] as const, "limits.");
  const perKey =
    given.perKey === undefined || given.perKey === null ? {} : readFields(given.perKey, "limits.perKey", KEY_NAMES, "limits.perKey.");
  const limits: QueueLimits = {
    running: null,
    rate: null,
    ...readStarts(given, "limits."),
    perKey: { ...NO_KEY_LIMITS, ...readKeyLimits(perKey, "limits.perKey.") },
  };
  const { waiting } = limits.perKey;
  return isLimited(limits) || isLimited(limits.perKey) || waiting !== null ? JSON.stringify(limits) : null;
}

/** Reads the limits of one key, in stored form; null for none of its own. Jobs without a key (null) have a weight only. Throws `invalid_input`. */
export function readOneKeyLimits(input: unknown, key: string | null): string | null {
  const names = key === null ? (["weight"] as const) : OVERRIDE_NAMES;
  const given: { readonly [Name in (typeof OVERRIDE_NAMES)[number]]?: unknown } = readFields(input, "the limits of a key", names);
  const { weight } = given;
  const own: KeyLimits = {
    ...readKeyLimits(given, ""),
    ...(weight === undefined
      ? {}
      : { weight: demand(readInteger(weight, 1, MAX_WEIGHT), "weight", `a whole number from 1 to ${MAX_WEIGHT}`, weight) }),
  };
  return Object.keys(own).length === 0 ? null : JSON.stringify(own);
}

function readKeyLimits(given: { readonly [Name in (typeof KEY_NAMES)[number]]?: unknown }, prefix: string): Partial<PerKeyLimits> {
  const { waiting } = given;
  return {
    ...readStarts(given, prefix),
    ...(waiting === undefined ? {} : { waiting: readCount(waiting, `${prefix}waiting`, MAX_WAITING_LIMIT) }),
  };
}

function readStarts(given: { readonly [Name in (typeof START_NAMES)[number]]?: unknown }, prefix: string): Partial<StartLimits> {
  const { running, rate, burst } = given;
  if (burst !== undefined && (rate === undefined || rate === null)) {
    throw invalid(`${prefix}burst`, "given together with a rate", burst);
  }
  return {
    ...(running === undefined ? {} : { running: readCount(running, `${prefix}running`, MAX_RUNNING_LIMIT) }),
    ...(rate === undefined ? {} : { rate: rate === null ? null : readWholeRate(rate, burst, prefix) }),
  };
}

function readWholeRate(rate: unknown, burst: unknown, prefix: string): Rate {
  return {
    ...demand(readRate(rate), `${prefix}rate`, RATE_RULE, rate),
    burst:
      burst === undefined
        ? 1
        : demand(readInteger(burst, 1, MAX_RATE_UNITS), `${prefix}burst`, `a whole number from 1 to ${MAX_RATE_UNITS}`, burst),
  };
}

function readCount(input: unknown, field: string, most: number): number | null {
  return input === null
    ? null
    : demand(readInteger(input, 1, most), field, `a whole number from 1 to ${most}, or null for no limit`, input);
}

function demand<Value>(value: Value | undefined, field: string, mustBe: string, input: unknown): Value {
  if (value === undefined) throw invalid(field, mustBe, input);
  return value;
}

// ── Showing ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The limits of a queue as people see them; null if it has none. */
export function shownLimits(stored: string | null): LimitOptions | null {
  if (stored === null) return null;
  const { perKey, ...limits } = decodeLimits(stored);
  return { ...shownStarts(limits), perKey: { ...shownStarts(perKey), waiting: perKey.waiting } };
}

/** The limits of a key as people see them. */
export function shownKeyLimits(own: KeyLimits): OneKeyLimitOptions {
  const { running, rate, waiting, weight } = own;
  return {
    ...(running === undefined ? {} : { running }),
    ...(rate === undefined ? {} : shownRate(rate)),
    ...(waiting === undefined ? {} : { waiting }),
    ...(weight === undefined ? {} : { weight }),
  };
}

/** What holds for a key, as people see it. */
export function shownEffective({ waiting, weight, ...limits }: EffectiveLimits): KeyLimitOptions & { readonly weight: number } {
  return { ...shownStarts(limits), waiting, weight };
}

function shownStarts({ running, rate }: StartLimits): { running: number | null; rate: string | null; burst?: number } {
  return { running, ...shownRate(rate) };
}

function shownRate(rate: Rate | null): { rate: string | null; burst?: number } {
  return rate === null ? { rate } : { rate: rateInWords(rate), burst: rate.burst };
}
