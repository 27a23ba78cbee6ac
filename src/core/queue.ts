/**
 * QUEUE SETTINGS, each declared once. QUEUE_SETTINGS says which values a caller may give, the default, and where a store keeps it. The client,
 * the wire and the engines read these rows. A new setting is a row here, a line in the types below, a column in the two SQL engines, and its
 * place in the HTTP contract, the CLI and the dashboard.
 */
import { DEFAULTS_RULE, readDefaultNames, readDefaults, shownDefaults } from "./attempt-options.ts";
import { durationWithin, MAX_DELAY_MS } from "./duration.ts";
import { invalid } from "./errors.ts";
import { decodeFacets, MAX_FACETS, readFacets } from "./facets.ts";
import { LIMITS_RULE, readLimits, shownLimits } from "./limits.ts";
import { STRICT_HEAD_START_MS } from "./rank.ts";
import { readFields, readInteger } from "./read-fields.ts";

export const DEFAULT_QUEUE = "default";

/** How many types with pending jobs are listed of one queue. */
export const MAX_WAITING_TYPES = 100;

/** Queue settings, as stored. Each has a default, so that a queue needs no set-up. */
export interface QueueSettings {
  /** How many jobs may wait (pending + scheduled + retrying); null is no limit. */
  readonly capacity: number | null;
  /** How much earlier one step of priority counts. The default makes priority strict. */
  readonly headStartMs: number;
  /** Whether jobs that failed for good become `dead` (kept until someone acts) or `failed`. */
  readonly deadLetters: boolean;
  readonly retention: Retention;
  /** Declared payload fields, as facets.ts stores them. */
  readonly facets: string | null;
  /** Defaults for the options of its jobs, as attempt-options.ts stores them. */
  readonly defaults: string | null;
  /** How many jobs may run at once and start in a time, as limits.ts stores it. */
  readonly limits: string | null;
}

/** How long completed and cancelled jobs are kept: until either bound is passed, but never less than `keepAtLeastMs`. */
export interface Retention {
  readonly ageMs: number;
  readonly count: number;
  readonly keepAtLeastMs: number;
}

/** A change of settings: what is not named, or undefined, stays. */
export type QueueChange = Partial<Omit<QueueSettings, "retention">> & {
  readonly retention?: Partial<Retention>;
  readonly paused?: boolean;
};

/** The stored value of a setting. */
export type SettingValue = number | boolean | string | null;

export interface QueueSetting {
  /** Its public name: `capacity`, or `age` in the group `retention`. */
  readonly name: string;
  readonly group?: "retention";
  /** Its name in QueueSettings, in the same group. */
  readonly key: string;
  /** Its column in the SQL engines. */
  readonly column: string;
  readonly kind: "number" | "flag" | "text";
  readonly usual: SettingValue;
  /** Which values are valid, in words. */
  readonly mustBe: string;
  /** Turns an input into the stored value; undefined if it is not valid. */
  readonly read: (input: unknown) => SettingValue | undefined;
  /** Turns the stored value into the public one, if they differ. */
  readonly show?: (stored: SettingValue) => unknown;
}

/** The largest capacity, and the largest number of jobs to keep. */
export const MAX_COUNT = 1_000_000_000;
const MAX_HEAD_START_MS = 365 * 86_400_000;
const A_KEEP = 'a time of at most 10 years, in milliseconds or as "24h", "7d"';
const readKeep = (input: unknown): number | undefined => durationWithin(input, 0, MAX_DELAY_MS);

export const QUEUE_SETTINGS: readonly QueueSetting[] = [
  {
    name: "capacity",
    key: "capacity",
    column: "capacity",
    kind: "number",
    usual: null,
    mustBe: `a whole number from 1 to ${MAX_COUNT}, or null for no limit`,
    read: (input) => (input === null ? null : readInteger(input, 1, MAX_COUNT)),
  },
  {
    name: "headStart",
    key: "headStartMs",
    column: "head_start",
    kind: "number",
    usual: STRICT_HEAD_START_MS,
    mustBe: 'a time of at most 365 days, in milliseconds or as "30s", "1m", or null for strict priority',
    read: (input) => (input === null ? STRICT_HEAD_START_MS : durationWithin(input, 0, MAX_HEAD_START_MS)),
    show: (ms) => (ms === STRICT_HEAD_START_MS ? null : ms),
  },
  {
    name: "deadLetters",
    key: "deadLetters",
    column: "dead_letters",
    kind: "flag",
    usual: true,
    mustBe: "true or false",
    read: (input) => (typeof input === "boolean" ? input : undefined),
  },
  {
    name: "age",
    group: "retention",
    key: "ageMs",
    column: "keep_age",
    kind: "number",
    usual: 24 * 3_600_000,
    mustBe: A_KEEP,
    read: readKeep,
  },
  {
    name: "count",
    group: "retention",
    key: "count",
    column: "keep_count",
    kind: "number",
    usual: 10_000,
    mustBe: `a whole number from 0 to ${MAX_COUNT}`,
    read: (input) => readInteger(input, 0, MAX_COUNT),
  },
  {
    name: "keepAtLeast",
    group: "retention",
    key: "keepAtLeastMs",
    column: "keep_at_least",
    kind: "number",
    usual: 10 * 60_000,
    mustBe: A_KEEP,
    read: readKeep,
  },
  {
    name: "facets",
    key: "facets",
    column: "facets",
    kind: "text",
    usual: null,
    mustBe: `at most ${MAX_FACETS} names of payload fields, such as customer or customer.id`,
    read: readFacets,
    show: (stored) => decodeFacets(stored as string | null),
  },
  {
    name: "defaults",
    key: "defaults",
    column: "job_defaults",
    kind: "text",
    usual: null,
    mustBe: DEFAULTS_RULE,
    read: readDefaults,
    show: (stored) => shownDefaults(stored as string | null),
  },
  {
    name: "limits",
    key: "limits",
    column: "limits",
    kind: "text",
    usual: null,
    mustBe: LIMITS_RULE,
    read: readLimits,
    show: (stored) => shownLimits(stored as string | null),
  },
];

const GROUPED = QUEUE_SETTINGS.filter(({ group }) => group !== undefined);

/** Makes settings of the value of each. */
export function settingsFrom(valueOf: (setting: QueueSetting, index: number) => SettingValue): QueueSettings {
  return gather("key", valueOf) as unknown as QueueSettings;
}

/** The value of one setting, or undefined if a change does not name it. */
export function settingIn(settings: QueueSettings | QueueChange, { group, key }: QueueSetting): SettingValue | undefined {
  const holder = group === undefined ? settings : settings[group];
  return (holder as Readonly<Record<string, SettingValue | undefined>> | undefined)?.[key];
}

export const QUEUE_DEFAULTS: QueueSettings = settingsFrom(({ usual }) => usual);

/** The settings after a change. */
export function changeSettings(settings: QueueSettings, change: QueueChange): QueueSettings {
  return settingsFrom((setting) => {
    const changed = settingIn(change, setting);
    return changed === undefined ? settingIn(settings, setting)! : changed;
  });
}

/** The settings as people see them. */
export function shownSettings(settings: QueueSettings): Record<string, unknown> {
  return gather("name", (setting) => {
    const stored = settingIn(settings, setting)!;
    return setting.show === undefined ? stored : setting.show(stored);
  });
}

/** Checks the names of settings, not their values. */
export function readSettingNames(input: unknown): {
  readonly [name: string]: unknown;
  readonly retention?: Readonly<Record<string, unknown>>;
  readonly defaults?: Readonly<Record<string, unknown>> | null;
} {
  const given = readFields(input, "settings", [...new Set(QUEUE_SETTINGS.map(({ name, group }) => group ?? name))]);
  const { retention, defaults, ...rest } = given;
  const names = GROUPED.map(({ name }) => name);
  return {
    ...rest,
    ...(retention === undefined ? {} : { retention: readFields(retention, "retention", names, "retention.") }),
    ...(defaults === undefined ? {} : { defaults: defaults === null ? null : readDefaultNames(defaults) }),
  };
}

/** Reads the settings that the caller names, in stored form. Throws `invalid_input` at the first bad or unknown field. */
export function readQueueOptions(input: unknown): QueueChange {
  const options = readSettingNames(input);
  return gather("key", ({ name, group, mustBe, read }) => {
    const given = group === undefined ? options[name] : options[group]?.[name];
    if (given === undefined) return undefined;
    const value = read(given);
    if (value === undefined) throw invalid(group === undefined ? name : `${group}.${name}`, mustBe, given);
    return value;
  });
}

/** Whether to make a queue that does not exist; `usual` if the caller does not say. */
export function readCreate(options: unknown, usual: boolean): boolean {
  const { create = usual } =
    options === undefined || options === null ? {} : readFields(options, "the options for a new queue", ["create"]);
  if (typeof create !== "boolean") throw invalid("create", "true or false", create);
  return create;
}

/** An object with the value of each setting, in its group; undefined ones are left out. A loop, because SQLite reads settings in every transaction. */
function gather(as: "key" | "name", valueOf: (setting: QueueSetting, index: number) => unknown): Record<string, unknown> {
  const gathered: Record<string, unknown> = {};
  for (let index = 0; index < QUEUE_SETTINGS.length; index++) {
    const setting = QUEUE_SETTINGS[index]!;
    const value = valueOf(setting, index);
    if (value === undefined) continue;
    const holder = setting.group === undefined ? gathered : ((gathered[setting.group] ??= {}) as Record<string, unknown>);
    holder[setting[as]] = value;
  }
  return gathered;
}
