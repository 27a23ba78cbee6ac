import { randomBytes } from "node:crypto";

const GRAMMAR = /^[A-Za-z0-9._-]{1,128}$/;

/** Makes the ids of requests: random for the process, then counted. */
export function requestIds(): (given: string | null) => string {
  const prefix = randomBytes(6).toString("base64url");
  let count = 0;
  // What was given outside of the grammar is replaced: it goes into headers and logs.
  return (given) => (given !== null && GRAMMAR.test(given) ? given : `${prefix}-${(++count).toString(36)}`);
}
