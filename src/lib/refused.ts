/** Nothing accepts connections at this address, or it does not exist. Unlike silence, this is known at once. */
const REASONS: ReadonlyMap<unknown, string> = new Map([
  ["ECONNREFUSED", "connection refused"],
  ["ENOTFOUND", "there is no such host"],
  ["EAI_AGAIN", "the name of the host could not be looked up"],
  ["EHOSTUNREACH", "there is no way to the host"],
  ["ENETUNREACH", "there is no way to its network"],
  ["ENOENT", "there is no such socket"],
]);

/** Whether a connection error means this. */
export function isRefusal(error: unknown): boolean {
  return refusalInWords(error) !== null;
}

/** The reason in words; null for an error that means something else. */
export function refusalInWords(error: unknown): string | null {
  if (!(error instanceof AggregateError)) return REASONS.get((error as { code?: unknown } | null)?.code) ?? null;
  // A host with several addresses fails with one error for each of them.
  const reasons = error.errors.map(refusalInWords);
  return reasons.length > 0 && reasons.every((reason) => reason !== null) ? [...new Set(reasons)].join("; ") : null;
}
