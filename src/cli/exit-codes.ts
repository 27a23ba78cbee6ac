import { type ErrorCode, MillraceError } from "../core/errors.ts";

/** Exit codes. Scripts rely on them: docs/cli.md lists them, and they never change their meaning. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  noAccess: 4,
  conflict: 5,
  busy: 6,
  timeout: 7,
  jobFailed: 8,
  problemsFound: 9,
  interrupted: 130,
} as const;

/** One of them. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const BY_ERROR: Readonly<Record<ErrorCode, ExitCode>> = {
  invalid_input: EXIT.usage,
  invalid_cursor: EXIT.usage,
  unknown_type: EXIT.usage,
  invalid_transaction: EXIT.usage,
  not_found: EXIT.notFound,
  unauthorized: EXIT.noAccess,
  forbidden: EXIT.noAccess,
  key_conflict: EXIT.conflict,
  schedule_exists: EXIT.conflict,
  wrong_status: EXIT.conflict,
  stale_lease: EXIT.conflict,
  queue_full: EXIT.busy,
  rate_limited: EXIT.busy,
  wait_timeout: EXIT.timeout,
  store_unavailable: EXIT.failure,
  store_full: EXIT.failure,
  unsupported_store: EXIT.failure,
  closed: EXIT.failure,
};

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandRefused) return error.exitCode;
  return error instanceof MillraceError ? BY_ERROR[error.code] : EXIT.failure;
}

/** A command that cannot continue. Its message says what to do instead. */
export class CommandRefused extends Error {
  override readonly name = "CommandRefused";
  readonly exitCode: ExitCode;
  /** Lines to print below the message. */
  readonly details: readonly string[];

  constructor(message: string, exitCode: ExitCode = EXIT.usage, details: readonly string[] = []) {
    super(message);
    this.exitCode = exitCode;
    this.details = details;
  }
}
