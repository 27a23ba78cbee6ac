/** READING SETTINGS from flags, environment and file. The first place with a value counts, and the source of each value is kept. */
import { type Config, SETTING_NAMES, type SettingName, SETTINGS } from "../config.ts";
import { closestText } from "../core/closest-text.ts";
import { suggest } from "../core/did-you-mean.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import type { Alias, Kind, Setting } from "./setting.ts";
import { maskUrl, URL_ALIASES, withRedisParts } from "./store-url.ts";

/** Where a value came from: `name` is the flag, the variable or the file. */
export interface Source {
  readonly from: "flag" | "environment" | "file" | "default";
  readonly name: string;
}

export interface ConfigSources {
  /** Values of flags, by setting. */
  readonly flags?: Readonly<Partial<Record<SettingName, string | boolean>>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What a configuration file exported, and its name. */
  readonly file?: { readonly name: string; readonly content: unknown } | null;
}

/** Settings, and the source of each. */
export interface ReadConfig<Name extends SettingName = SettingName> {
  readonly config: Pick<Config, Name>;
  readonly sources: Readonly<Record<Name, Source>>;
}

/** Reads only the named settings. Throws `invalid_input` at the first wrong one, in one line that says where it is. */
export function readConfig<Name extends SettingName>(from: ConfigSources, names: readonly Name[]): ReadConfig<Name> {
  const read = names.map((name) => [name, readSetting(name, from)] as const);
  return {
    config: Object.fromEntries(read.map(([name, { value }]) => [name, value])) as unknown as Pick<Config, Name>,
    sources: Object.fromEntries(read.map(([name, { source }]) => [name, source])) as Record<Name, Source>,
  };
}

export function readSetting<Name extends SettingName>(name: Name, from: ConfigSources): { value: Config[Name]; source: Source } {
  const { value, source } = readAlone(name, from);
  if (name !== "url") return { value, source };
  const url = withRedisParts(value as string, readAlone("redisPassword", from).value, readAlone("redisDb", from).value);
  return { value: url as Config[Name], source };
}

function readAlone<Name extends SettingName>(name: Name, from: ConfigSources): { value: Config[Name]; source: Source } {
  const { kind, fallback } = SETTINGS[name] as Setting<unknown, unknown>;
  const found = givenBy(name, { ...from, file: readFileContent(from.file) });
  const value = found === null ? fallback : checked(name, kind, found);
  return { value: value as Config[Name], source: found?.source ?? { from: "default", name: "default" } };
}

/** A value for people: secrets hidden, times with a unit, empty if it is not set. */
export function showValue<Name extends SettingName>(name: Name, value: Config[Name]): string {
  const { kind, secret } = SETTINGS[name] as Setting<unknown, unknown>;
  const shown = kind.show(value);
  if (name === "url") return maskUrl(shown);
  return secret && shown !== "" ? "***" : shown;
}

/** The store and the setting that named it, for the start message of a process. */
export function describeStore({ config, sources }: ReadConfig<"url">): string {
  return `${maskUrl(config.url)} (${sources.url.name})`;
}

/** Variables that name a store, in order of precedence. */
const STORE_VARIABLES = [SETTINGS.url.env, ...URL_ALIASES.map(({ env }) => env)];

/**
 * Variables that name a store but are not used. If you set DATABASE_URL and REDIS_ADDR, you may think that both are in use. With --url or
 * MILLRACE_URL the choice is explicit, and the others are for other programs.
 */
export function unusedStores({ from, name }: Source, env: ConfigSources["env"] = {}): string[] {
  if (from === "flag" || name === SETTINGS.url.env) return [];
  return STORE_VARIABLES.filter((variable) => variable !== name && (env[variable] ?? "") !== "");
}

/** Shorter names are too near to those of other programs. */
const SHORTEST_MISSPELLED = 8;
/** With more, it is another name: PIP_DEFAULT_TIMEOUT is not a mistyped JOB_DEFAULT_TIMEOUT. */
const MOST_TYPING_MISTAKES = 2;

/** Variables that look like a setting with a typing mistake, or with our name before it. Others belong to other programs. */
export function misspelled(env: Readonly<Record<string, string | undefined>>): { readonly name: string; readonly meant: string }[] {
  const settings = Object.values(SETTINGS) as readonly Setting<unknown, unknown>[];
  const known = settings.flatMap(({ env: own, aliases = [] }) => [own, ...aliases.map((alias) => alias.env)]);
  const names = Object.keys(env).filter((name) => name.length >= SHORTEST_MISSPELLED && /^[A-Z0-9_]+$/.test(name) && !known.includes(name));
  return names.flatMap((name) => {
    const bare = name.replace(/^MILLRACE_/, "");
    const meant = known.includes(bare) ? bare : closestText(name, known, MOST_TYPING_MISTAKES);
    return meant === null ? [] : [{ name, meant }];
  });
}

interface Given {
  readonly input: unknown;
  readonly source: Source;
  /** The name of the place in messages. */
  readonly place: string;
  /** What it must be there, if that differs from the setting. */
  readonly mustBe?: string | undefined;
}

type Content = { readonly name: string; readonly content: Readonly<Record<string, unknown>> } | null;

function givenBy(name: SettingName, { flags, env = {}, file }: ConfigSources & { readonly file: Content }): Given | null {
  const row = SETTINGS[name] as Setting<unknown, unknown>;
  const flag = flags?.[name];
  if (flag !== undefined) return { input: flag, source: { from: "flag", name: `--${row.flag}` }, place: `--${row.flag}` };
  const names: readonly Alias[] = [{ env: row.env }, ...(row.aliases ?? [])];
  for (const { env: variable, take = asItIs, mustBe } of names) {
    const given = env[variable];
    // An empty value in an .env file means that the setting is not set.
    const input = given === undefined || given === "" ? undefined : take(given);
    if (input !== undefined) return { input, source: { from: "environment", name: variable }, place: variable, mustBe };
  }
  for (const inFile of [name, ...otherNamesInFile(name)]) {
    const input = file?.content[inFile] ?? null;
    if (file !== null && input !== null) return { input, source: { from: "file", name: file.name }, place: `${inFile} in ${file.name}` };
  }
  return null;
}

function otherNamesInFile(name: SettingName): string[] {
  return ((SETTINGS[name] as Setting<unknown, unknown>).aliases ?? []).flatMap(({ inFile }) => inFile ?? []);
}

function asItIs(given: string): string {
  return given;
}

function checked(name: SettingName, kind: Kind<unknown, unknown>, { input, place, mustBe = kind.mustBe }: Given): unknown {
  const value = kind.read(input);
  if (value !== undefined) return value;
  const { secret } = SETTINGS[name] as Setting<unknown, unknown>;
  if (secret) throw new MillraceError("invalid_input", `${place} must be ${mustBe}`, { field: place });
  throw invalid(place, mustBe, typeof input === "string" ? maskUrl(input) : input);
}

/** Refuses unknown names: otherwise a typing mistake would never be noticed. */
function readFileContent(file: ConfigSources["file"]): Content {
  if (file === null || file === undefined) return null;
  const { name, content } = file;
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw invalid(`the default export of ${name}`, "an object with settings", content);
  }
  const known = new Set<string>([...SETTING_NAMES, ...SETTING_NAMES.flatMap(otherNamesInFile)]);
  const unknown = Object.keys(content).find((key) => !known.has(key));
  if (unknown === undefined) return { name, content: content as Record<string, unknown> };
  throw new MillraceError("invalid_input", `${unknown} in ${name} is not a setting; ${suggest(unknown, SETTING_NAMES, "known settings")}`, {
    field: unknown,
  });
}
