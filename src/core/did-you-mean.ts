/** DID YOU MEAN: the known name for one that is not known, after a typing mistake or from another queue's vocabulary. */
import { closestText } from "./closest-text.ts";

/** Words of BullMQ, pg-boss, Graphile Worker, Bee-Queue, Agenda and others, and what they are called here. */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  attempts: ["maxRetries"],
  maxattempts: ["maxRetries"],
  retries: ["maxRetries"],
  retrylimit: ["maxRetries"],
  backoff: ["retryDelay"],
  retrybackoff: ["retryDelay"],
  jobid: ["idempotencyKey"],
  jobkey: ["idempotencyKey"],
  singletonkey: ["idempotencyKey"],
  dedupekey: ["idempotencyKey"],
  deduplication: ["idempotencyKey"],
  uniquekey: ["idempotencyKey"],
  startafter: ["runAt", "delay"],
  startat: ["runAt"],
  at: ["runAt"],
  in: ["delay"],
  ttl: ["timeout"],
  expirein: ["timeout"],
  expireinseconds: ["timeout"],
  name: ["type"],
  data: ["payload"],
  body: ["payload"],
  args: ["payload"],
  queuename: ["queue"],
  metadata: ["meta"],
  labels: ["tags"],
  webhook: ["webhookUrl"],
  callbackurl: ["webhookUrl"],
  lockduration: ["lease"],
  locklifetime: ["lease"],
  visibilitytimeout: ["lease"],
  teamsize: ["concurrency"],
  batchsize: ["concurrency"],
  processevery: ["every"],
  pattern: ["cron"],
  tz: ["timeZone"],
  timezone: ["timeZone"],
  token: ["apiKey"],
};

/** The end of a message that refuses a name: what was probably meant, and all that is known. `title` is "known fields". */
export function suggest(given: string, known: readonly string[], title: string): string {
  const meant = meantBy(given, known);
  const all = `${title}: ${known.join(", ")}`;
  return meant === null ? all : `did you mean ${meant}? (${all})`;
}

/** The known name that was probably meant; null if none is near. `known` may be written as runAt, run_at or run-at. */
export function meantBy(given: string, known: readonly string[]): string | null {
  const byLetters = new Map(known.map((name) => [lettersOf(name), name]));
  const letters = lettersOf(given);
  const same = byLetters.get(letters);
  if (same !== undefined) return same;
  const word = Object.hasOwn(OTHER_WORDS, letters) ? OTHER_WORDS[letters]!.find((name) => byLetters.has(lettersOf(name))) : undefined;
  if (word !== undefined) return byLetters.get(lettersOf(word))!;
  const near = closestText(letters, byLetters.keys());
  return near === null ? null : byLetters.get(near)!;
}

function lettersOf(name: string): string {
  return name.replace(/[-_ ]/g, "").toLowerCase();
}
