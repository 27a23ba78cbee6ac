/**
 * THE LOG: a line of JSON for each fact that somebody should know of. Facts come in as values, from leases, requests and troubles; here they
 * get a level and words. What jobs carry, payloads and results, is never among them, nor is a secret.
 */
import { hostname } from "node:os";
import { preview } from "../core/errors.ts";
import type { Trouble } from "../core/trouble.ts";
import type { SeenRequest } from "./request-figures.ts";
import { escapeJsonLine, safeText } from "./safe-text.ts";

/** How much lines matter, from the least on; `silent` lets none pass. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
/** One of the levels. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What is asked of a logger. Any that is shaped like pino will do. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  isLevelEnabled?(level: string): boolean;
}

/** What a log can be told. */
export interface LogOptions {
  /** Lines below are dropped. Default `info`. */
  readonly level?: LogLevel | undefined;
  /** Where lines go, each with its line break. Default: standard output, without waiting for it. */
  readonly write?: ((line: string) => void) | undefined;
}

/** A logger of our own, and how to see off what it has not written yet. */
export interface Log {
  readonly logger: Logger;
  /** Writes all that waits, at once. To be called before the process ends. */
  flush(): void;
}

/** A reader of our output who stands still gets no more than this from memory; beyond it lines are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Opens a log of our own. pino is loaded only here: who brings a logger does not pay for it. */
export async function openLog({ level = "info", write }: LogOptions = {}): Promise<Log> {
  const { default: pino } = await import("pino");
  const output = write === undefined ? pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES }) : null;
  const put = write ?? ((line: string): void => void output?.write(line));
  const options = {
    level,
    base: { pid: process.pid, hostname: hostname() },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const logger = pino(options, { write: (line: string) => put(escapeJsonLine(line)) });
  return { logger, flush: () => output?.flushSync() };
}

const MAX_NAME_LENGTH = 100;
const MAX_ERROR_LENGTH = 1000;
const MAX_STACK_LENGTH = 8000;

/** An error as a log shows it. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: "NonError", message: safeText(preview(error), MAX_ERROR_LENGTH) };
  const { name, message, stack } = error;
  const { code } = error as { code?: unknown };
  return {
    name: safeText(name, MAX_NAME_LENGTH),
    message: safeText(message, MAX_ERROR_LENGTH),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(stack === undefined ? {} : { stack: safeText(stack, MAX_STACK_LENGTH) }),
  };
}

/** Writes troubles: those after which jobs may run twice or not at all as errors, those that mend themselves as warnings. */
export function troubleLines(logger: Logger): (trouble: Trouble) => void {
  return ({ kind, message, error }) => {
    const fields = { trouble: kind, ...(error === undefined ? {} : { error: errorFields(error) }) };
    const isGrave = kind === "abandoned" || kind === "claim" || kind === "report";
    logger[isGrave ? "error" : "warn"](fields, safeText(message, MAX_ERROR_LENGTH));
  };
}

/** Routes that machines ask for every few seconds. */
const PROBES = /^\/(health|metrics)/;

/** Writes a line for each request. The route is told, not the path: that may hold what a caller should not have put there. */
export function requestLines(logger: Logger): (request: SeenRequest) => void {
  return ({ requestId, method, route, status, durationMs, caller, address, error }) => {
    const fields = {
      request_id: requestId,
      method: safeText(method, 16),
      route,
      status,
      duration_ms: Math.round(durationMs * 1000) / 1000,
      key: caller,
      address,
      ...(error === undefined ? {} : { error: errorFields(error) }),
    };
    if (error !== undefined) logger.error(fields, "request failed");
    else if (status >= 500) logger.warn(fields, "request refused");
    else if (route !== null && PROBES.test(route)) logger.debug(fields, "request");
    else logger.info(fields, "request");
  };
}
