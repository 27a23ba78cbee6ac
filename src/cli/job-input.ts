/** What can be said about a job on the command line, by `enqueue` and by `schedules`; and how JSON comes in. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
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
  retryDelay: time("the delay before the first retry, which doubles with each: 500ms, 30s, 5m"),
  timeout: time("how long an attempt may take; 0 is no limit"),
  tag: { ...texts("<tag>", "a tag; may be given several times"), field: "tags" },
  meta: text("<json>", "an object of your own that travels with the job"),
  webhookUrl: text("<url>", "is called when the job has ended"),
} as const;

type JobInput = { readonly [Name in keyof typeof JOB_INPUT]: ReturnType<(typeof JOB_INPUT)[Name]["read"]> };

/** The same as the client takes them. What was not said is left out. */
export async function readJobInput(input: JobInput, session: Session): Promise<JobOptions> {
  const { queue, priority, maxRetries, retryDelay, timeout, tag: tags, webhookUrl } = input;
  const meta = input.meta === undefined ? undefined : ((await readJson(input.meta, "--meta", session)) as JobOptions["meta"]);
  return { queue, priority, maxRetries, retryDelay, timeout, tags, meta, webhookUrl };
}

/** JSON as it was typed; from a file as `@file`, from what is piped in as `-`. */
export async function readJson(given: string, flag: string, session: Session): Promise<unknown> {
  const json = await readText(given, flag, session);
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    const advice = given === json ? ` (a text needs its own quotes: ${flag} '"text"')` : "";
    throw new CommandRefused(`${flag} must be JSON: ${(error as Error).message}${advice}`);
  }
}

async function readText(given: string, flag: string, session: Session): Promise<string> {
  if (given === "-") return session.readInput();
  if (!given.startsWith("@")) return given;
  const path = resolve(session.terminal.cwd, given.slice(1));
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandRefused(`${flag} cannot be read: ${(error as Error).message}`);
  }
}
