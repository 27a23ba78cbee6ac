/** The options of a job, for `enqueue` and `schedules`, and how JSON is read. */
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { MillraceError } from "../core/errors.ts";
import { parseJson } from "../core/json-source.ts";
import { JsonText } from "../core/json-text.ts";
import type { JobOptions } from "../core/job-options.ts";
import { PRIORITY_LEVELS, USUAL_JOB } from "../core/job.ts";
import { FIXED_BACKOFF } from "../core/retry.ts";
import { number, numberOr, type Option, text, texts, time } from "./command.ts";
import { CommandRefused } from "./exit-codes.ts";
import type { Session } from "./session.ts";

const PRIORITIES = Object.keys(PRIORITY_LEVELS);

export function priority(about: string): Option<JobOptions["priority"]> {
  return { about, placeholder: "<priority>", many: false, words: PRIORITIES, read: (given) => numberOr(given) as JobOptions["priority"] };
}

const BACKOFFS: readonly string[] = [USUAL_JOB.backoff, FIXED_BACKOFF];

/** Options of both jobs and schedules. */
export const JOB_INPUT = {
  queue: text("<name>", "the queue of the job (default: default)"),
  priority: priority("low, default, high, critical, or -100 to 100; higher goes first"),
  maxRetries: number("how often to retry a failed attempt"),
  maxLost: number("how often it runs again after its worker died or was cut off (default: 3, or 0 with no retries)"),
  retryDelay: time("the delay before the first retry: 500ms, 30s, 5m"),
  backoff: text(
    "<name>",
    "how the delay grows: exponential doubles it, fixed keeps it, other names are functions of your workers",
    BACKOFFS,
  ),
  timeout: time("how long an attempt may take; 0 means no limit"),
  tag: { ...texts("<tag>", "a tag; you can give several"), field: "tags" },
  meta: text("<json>", "your own JSON object, kept with the job"),
  limitKey: text("<key>", "the limit key: jobs with the same key share its limits and take turns with other keys"),
  cost: number("how many units of a rate its start takes (default: 1)"),
  webhookUrl: text("<url>", "the URL to call when the job has ended"),
} as const;

type JobInput = { readonly [Name in keyof typeof JOB_INPUT]: ReturnType<(typeof JOB_INPUT)[Name]["read"]> };

/** The same as the client takes them. */
export async function readJobInput(input: Partial<JobInput>, session: Session): Promise<JobOptions> {
  const { queue, priority, maxRetries, maxLost, retryDelay, backoff, timeout, tag: tags, limitKey, cost, webhookUrl } = input;
  const meta = input.meta === undefined ? undefined : ((await readJson(input.meta, "--meta", session)).value as JobOptions["meta"]);
  return { queue, priority, maxRetries, maxLost, retryDelay, backoff, timeout, tags, meta, limitKey, cost, webhookUrl };
}

/** JSON as typed, from a file as `@file`, or from stdin as `-`. The text is kept, so numbers are sent as they were written. */
export async function readJson(given: string, flag: string, session: Session): Promise<JsonText> {
  const json = await readText(given, flag, session);
  try {
    return new JsonText(json.trim(), parseJson(json).value);
  } catch (error) {
    if (error instanceof MillraceError) throw new CommandRefused(`${flag}: ${error.message}`);
    const advice = given === json ? ` (a string needs JSON quotes: ${flag} '"text"')` : "";
    throw new CommandRefused(`${flag} must be JSON: ${(error as Error).message}${advice}`);
  }
}

/** Node puts it into arguments in place of bytes that are not UTF-8. To send the character itself, write its escape. */
const DAMAGE = "\ufffd";

/** A text as given, from a file as `@file`, or from stdin as `-`. */
export async function readText(given: string, flag: string, session: Session): Promise<string> {
  if (given === "-") return decode(await session.readInput(), `${flag} -`);
  if (given.startsWith("@")) return decode(readFile(resolve(session.terminal.cwd, given.slice(1)), flag), given.slice(1));
  if (!given.includes(DAMAGE)) return given;
  throw new CommandRefused(`${flag} is not UTF-8, or contains the character U+FFFD: to send that character, write it as \\ufffd`);
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
