/** An address where nobody takes connections: nobody listens there, or there is no such address. Unlike silence, it is known at once. */
const CODES: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ENOENT"]);

/** Whether an error of a connection says so. */
export function isRefusal(error: unknown): boolean {
  // A host with several addresses fails with one error for each.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isRefusal);
  return CODES.has((error as { code?: unknown } | null)?.code);
}
