/**
 * THE LOG: one line for each fact that somebody should know, as JSON, or for people on a terminal. Facts about leases, requests and troubles arrive as values; here they get a
 * level and a message. Payloads, results and secrets are never logged.
 */
import { hostname } from "node:os";
import { preview } from "../core/errors.ts";
import type { Trouble } from "../core/trouble.ts";
import type { SeenRequest } from "./request-figures.ts";
import { prettyLine } from "./pretty-log.ts";
import { escapeJsonLine, safeText } from "./safe-text.ts";

/** The levels, from the least important; `silent` logs nothing. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The part of a logger that we use. Any logger like pino has it. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  isLevelEnabled?(level: string): boolean;
}

export interface LogOptions {
  /** The lowest level that is logged. Default `info`. */
  readonly level?: LogLevel | undefined;
  /** Receives lines, each with its line break. Default: standard output, without waiting for it; a terminal gets lines for people. */
  readonly write?: ((line: string) => void) | undefined;
}

/** Our own logger, and how to write what it still holds. */
export interface Log {
  readonly logger: Logger;
  /** Writes everything that waits, at once. Call it before the process ends. */
  flush(): void;
}

/** How much is kept in memory if nothing reads our output; beyond that lines are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Opens our own log. Only this loads pino: with another logger it costs nothing. */
export async function openLog({ level = "info", write }: LogOptions = {}): Promise<Log> {
  const { default: pino } = await import("pino");
  const isTerminal = process.stdout.isTTY;
  const output = write === undefined ? pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES }) : null;
  const put = write ?? ((line: string): void => void output?.write(isTerminal ? prettyLine(line, mayColour()) : line));
  const options = {
    level,
    base: { pid: process.pid, hostname: hostname() },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const logger = pino(options, { write: (line: string) => put(escapeJsonLine(line)) });
  return { logger, flush: () => output?.flushSync() };
}

function mayColour(): boolean {
  return (process.env["NO_COLOR"] ?? "") === "" && process.env["TERM"] !== "dumb";
}

const MAX_NAME_LENGTH = 100;
const MAX_ERROR_LENGTH = 1000;
const MAX_STACK_LENGTH = 8000;

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

/** Logs troubles: as errors if jobs may run twice or not at all, as warnings if they pass by themselves. */
export function troubleLines(logger: Logger): (trouble: Trouble) => void {
  return ({ kind, message, error }) => {
    const fields = { trouble: kind, ...(error === undefined ? {} : { error: errorFields(error) }) };
    const isSerious = kind === "abandoned" || kind === "claim" || kind === "report";
    logger[isSerious ? "error" : "warn"](fields, safeText(message, MAX_ERROR_LENGTH));
  };
}

/** Routes that machines request every few seconds. */
const PROBES = /^\/(health|metrics)/;

/** Logs each request, with its route instead of its path: a path may contain what does not belong in a log. */
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
