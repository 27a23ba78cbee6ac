/** How engines store an error as text. */
import type { JobError } from "../core/job.ts";

/** The group comes first, so statements find it by its position (counted from 1) without reading JSON. */
export const GROUP_AT: number = '{"group":"'.length + 1;
export const GROUP_LENGTH = 12;

export function encodeError(error: JobError | null | undefined): string | null {
  if (error === null || error === undefined) return null;
  const { group, ...rest } = error;
  return JSON.stringify({ group, ...rest });
}

export function readError(text: string | null): JobError | null {
  return text === null || text === "" ? null : (JSON.parse(text) as JobError);
}

/** The error as lists show it. */
export function withoutStack(error: JobError | null): JobError | null {
  return error === null || error.stack === null ? error : { ...error, stack: null };
}
