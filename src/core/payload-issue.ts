import type { StandardIssue } from "./standard-schema.ts";

/** The place in a payload that an issue is about, written as everywhere: `payload`, `payload.to`, `payload.items[2].price`. */
export function fieldOfIssue(issue: StandardIssue): string {
  const keys = (issue.path ?? []).map((step) => (typeof step === "object" ? step.key : step));
  return keys.reduce<string>((path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`), "payload");
}
