/** Nothing accepts connections at this address, or it does not exist. Unlike silence, this is known at once. */
const CODES: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ENOENT"]);

/** Whether a connection error means this. */
export function isRefusal(error: unknown): boolean {
  // A host with several addresses fails with one error for each of them.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isRefusal);
  return CODES.has((error as { code?: unknown } | null)?.code);
}
