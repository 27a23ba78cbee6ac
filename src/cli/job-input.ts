/** What can be said about a job on the command line, by `enqueue` and by `schedules`; and how JSON comes in. */
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { MillraceError } from "../core/errors.ts";
import { parseJson } from "../core/json-source.ts";
import { JsonText } from "../core/json-text.ts";
import type { JobOptions } from "../core/job-options.ts";
import { PRIORITY_LEVELS } from "../core/job.ts";
import { number, numberOr, type Option, text, texts, time } from "./command.ts";
import { CommandRefused } from "./exit-codes.ts";
import type { Session } from "./session.ts";

const PRIORITIES = Object.keys(PRIORITY_LEVELS);

/** A level or a number. */
export function priority(about: string): Option<JobOptions["priority"]> {
  return { about, placeholder: "<priority>", many: false, words: PRIORITIES, read: (given) => numberOr(given) as JobOptions["priority"] };
}

/** Options that jobs and schedules have in common. */
export const JOB_INPUT = {
  queue: text("<name>", "the queue it goes to (default: default)"),
  priority: priority("low, default, high, critical, or -100 to 100; higher goes first"),
  maxRetries: number("how often a failed attempt is tried again"),
  maxLost: number("how often it runs again after its worker died or was cut off (default: 3, or 0 with no retries)"),
  retryDelay: time("the delay before the first retry, which doubles with each: 500ms, 30s, 5m"),
  timeout: time("how long an attempt may take; 0 is no limit"),
  tag: { ...texts("<tag>", "a tag; may be given several times"), field: "tags" },
  meta: text("<json>", "an object of your own that travels with the job"),
  webhookUrl: text("<url>", "is called when the job has ended"),
} as const;

type JobInput = { readonly [Name in keyof typeof JOB_INPUT]: ReturnType<(typeof JOB_INPUT)[Name]["read"]> };

/** The same as the client takes them. What was not said is left out. */
export async function readJobInput(input: JobInput, session: Session): Promise<JobOptions> {
  const { queue, priority, maxRetries, maxLost, retryDelay, timeout, tag: tags, webhookUrl } = input;
  const meta = input.meta === undefined ? undefined : ((await readJson(input.meta, "--meta", session)).value as JobOptions["meta"]);
  return { queue, priority, maxRetries, maxLost, retryDelay, timeout, tags, meta, webhookUrl };
}

/** JSON as it was typed; from a file as `@file`, from what is piped in as `-`. The text is kept: numbers are sent as they were written. */
export async function readJson(given: string, flag: string, session: Session): Promise<JsonText> {
  const json = await readText(given, flag, session);
  try {
    return new JsonText(json.trim(), parseJson(json).value);
  } catch (error) {
    if (error instanceof MillraceError) throw new CommandRefused(`${flag}: ${error.message}`);
    const advice = given === json ? ` (a text needs its own quotes: ${flag} '"text"')` : "";
    throw new CommandRefused(`${flag} must be JSON: ${(error as Error).message}${advice}`);
  }
}

/** Stands in an argument for bytes that were not UTF-8. Who means the character itself can write its escape. */
const DAMAGE = "\ufffd";

async function readText(given: string, flag: string, session: Session): Promise<string> {
  if (given === "-") return decode(await session.readInput(), `${flag} -`);
  if (given.startsWith("@")) return decode(readFile(resolve(session.terminal.cwd, given.slice(1)), flag), given.slice(1));
  if (!given.includes(DAMAGE)) return given;
  throw new CommandRefused(`${flag} is not UTF-8, or holds the character U+FFFD: write it as \\ufffd if you mean it`);
}

function readFile(path: string, flag: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CommandRefused(`${flag} cannot be read: ${(error as Error).message}`);
  }
}

function decode(bytes: Buffer, source: string): string {
  if (!isUtf8(bytes)) throw new CommandRefused(`${source} is not UTF-8: save or send it as UTF-8`);
  return bytes.toString("utf8");
}
