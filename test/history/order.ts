import { STRICT_HEAD_START_MS } from "../../src/core/rank.ts";
import type { Bench, Family } from "./family.ts";
import type { Span } from "./health.ts";
import type { Granted } from "./line.ts";
import { happened, lastLine, linesOf, mayHaveHappened, type Op } from "./story.ts";
import { type Wait, waitsOf } from "./wait.ts";

/**
 * I9 to I11 and pause: a claim takes the lowest rank of what waits in a queue, the first of equals, and nothing from a paused one. Where jobs have
 * limit keys, which take turns and may have to wait, this is so for the jobs of one line: of one type, priority and limit key.
 */
export const order: Family = {
  covers: ["I9", "I10", "I11", "pause"],
  begin(bench) {
    const queues = new Map<string, Wait[]>();
    // Whoever claims passes over a job that somebody holds.
    const held = new Set(bench.history.faults.flatMap(({ jobs = [] }) => jobs));
    const sent = new Map<string, Sent>();
    const keyed = new Set<string>();
    return {
      job(story) {
        const [sending] = story.sendings;
        if (sending !== undefined) {
          const { type, priority, queue, limitKey = null } = sending.sent;
          sent.set(story.id, { type, priority, limitKey, line: sending.invoked.line });
          if (limitKey !== null) keyed.add(queue);
        }
        // On Redis, a job that another calls may be stored some time after the end of the attempt that calls it: by a notice.
        const isCalled = sending?.sent.parent !== undefined;
        for (const wait of isCalled || held.has(story.id) ? [] : waitsOf(story)) {
          if (!wait.isPending || wait.runAt === null) continue;
          const waits = queues.get(wait.queue) ?? [];
          queues.set(wait.queue, waits);
          waits.push(wait);
        }
      },
      end() {
        checkPauses(bench);
        const failed = bench.history.claims.filter(({ phase }) => phase === "unknown").map(spanOfClaim);
        const claims = bench.history.claims
          .filter((claim) => !claim.ask.again && happened(claim) && !failed.some((span) => meet(span, spanOfClaim(claim))))
          .sort((a, b) => a.invoked.line - b.invoked.line);
        for (const [queue, waits] of queues) {
          const headStartMs = headStartOf(bench, queue, waits);
          if (headStartMs !== null) checkOrder(bench, claims, { queue, waits, sent, headStartMs, isKeyed: keyed.has(queue) });
        }
      },
    };
  },
};

/**
 * A claim that fails has held rows until the store undid it, and whoever claims beside it passes over them. Of one that was never answered, so
 * long after it began: then the store has seen that its process is gone.
 */
const UNDONE_AFTER_MS = 10_000;

function spanOfClaim({ invoked, answered }: Op<"claim">): Span {
  return { from: invoked.at, to: answered?.at ?? invoked.at + UNDONE_AFTER_MS };
}

function meet(one: Span, other: Span): boolean {
  return one.from <= other.to && other.from <= one.to;
}

/** The head start of a queue; null when it was changed while jobs came in, for then ranks change at times that no line tells. */
function headStartOf({ history }: Bench, queue: string, waits: readonly Wait[]): number | null {
  const changes = history.configures.filter(
    (op) => op.ask.queue === queue && op.ask.change.headStartMs !== undefined && mayHaveHappened(op),
  );
  if (changes.length === 0) return STRICT_HEAD_START_MS;
  const firstSent = waits.reduce((first, { from }) => Math.min(first, from), Infinity);
  const [only] = changes;
  return changes.length === 1 && lastLine(only!) < firstSent ? only!.ask.change.headStartMs! : null;
}

const CLEAN_EVERY = 64;

interface QueueUnderCheck {
  readonly queue: string;
  readonly waits: Wait[];
  readonly sent: ReadonlyMap<string, Sent>;
  readonly headStartMs: number;
  readonly isKeyed: boolean;
}

/** What is needed of every job to judge a claim: kept small, for there may be very many. */
interface Sent {
  readonly type: string;
  readonly priority: number;
  readonly limitKey: string | null;
  readonly line: number;
}

interface Ranked {
  readonly wait: Wait;
  readonly rank: number;
}

/** Goes through the claims in their order, with those that wait by rank beside it. */
function checkOrder(bench: Bench, claims: readonly Op<"claim">[], under: QueueUnderCheck): void {
  const coming = under.waits.sort((a, b) => a.from - b.from);
  let waiting: Ranked[] = [];
  let next = 0;
  let checked = 0;
  for (const claim of claims) {
    const granted = claim.answer.granted!.filter(({ queue }) => queue === under.queue);
    if (granted.length === 0) continue;
    for (; next < coming.length && coming[next]!.from < claim.invoked.line; next++) {
      const wait = coming[next]!;
      const ranked = { wait, rank: wait.runAt! - wait.priority * under.headStartMs };
      waiting.splice(placeOf(waiting, ranked.rank), 0, ranked);
    }
    // Now and then: with a long backlog, to go through all that wait at every claim takes for ever.
    if (++checked % CLEAN_EVERY === 0) waiting = waiting.filter(({ wait }) => wait.to > claim.invoked.line);
    checkClaim(bench, claim, granted, waiting, under);
  }
}

function placeOf(waiting: readonly Ranked[], rank: number): number {
  let low = 0;
  let high = waiting.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (waiting[middle]!.rank <= rank) low = middle + 1;
    else high = middle;
  }
  return low;
}

function checkClaim(
  { report, options }: Bench,
  claim: Op<"claim">,
  granted: readonly Granted[],
  waiting: readonly Ranked[],
  under: QueueUnderCheck,
): void {
  const { types } = claim.ask;
  const taken = new Set(granted.map(({ job }) => job));
  for (const lease of granted) {
    const sending = under.sent.get(lease.job);
    if (sending === undefined) continue;
    const rank = lease.runAt - sending.priority * under.headStartMs;
    for (const { wait, rank: better } of waiting) {
      if (better > rank) break;
      if (taken.has(wait.job) || wait.to <= claim.answered!.line || (types !== "*" && !types.includes(wait.type))) continue;
      if (claim.invoked.at < wait.fromAt + options.overlookMs) continue;
      if (better === rank && !cameFirst(wait, sending, lease)) continue;
      if (under.isKeyed && !isOneLine(wait, sending)) continue;
      const invariant = wait.priority === sending.priority ? "I10" : under.headStartMs === STRICT_HEAD_START_MS ? "I9" : "I11";
      const says = `was claimed before job ${wait.job}, which waited since line ${wait.from} with ${describe(wait, sending)}`;
      report(invariant, lease.job, says, [wait.from, sending.line, ...linesOf(claim)]);
      return;
    }
  }
}

function isOneLine(wait: Wait, sent: Sent): boolean {
  return wait.type === sent.type && wait.priority === sent.priority && wait.limitKey === sent.limitKey;
}

/** Equal ranks go by the store's sequence: whoever was stored before the other was even sent has the lower one. */
function cameFirst({ storedBy }: Wait, other: Sent, { attempt }: Granted): boolean {
  return storedBy !== null && attempt === 1 && storedBy < other.line;
}

function describe({ priority }: Wait, sent: Sent): string {
  if (priority > sent.priority) return "a higher priority";
  return priority === sent.priority ? "the same priority" : "a lower rank";
}

/** From the answer to a pause to the next call that may have ended it, nothing of the queue is claimed. */
function checkPauses({ report, history }: Bench): void {
  const switches = history.configures.filter((op) => op.ask.change.paused !== undefined && mayHaveHappened(op));
  for (const pause of switches) {
    if (!happened(pause) || pause.ask.change.paused !== true) continue;
    const { queue } = pause.ask;
    const resumes = switches.filter((op) => op.ask.queue === queue && op.ask.change.paused === false && lastLine(op) > pause.invoked.line);
    const until = Math.min(Infinity, ...resumes.map(({ invoked }) => invoked.line));
    for (const claim of history.claims) {
      if (claim.ask.again || claim.invoked.line < pause.answered!.line || (claim.answered?.line ?? Infinity) > until) continue;
      const lease = claim.answer.granted?.find((lease) => lease.queue === queue);
      if (lease !== undefined)
        report("pause", lease.job, `was claimed while its queue ${queue} was paused`, [...linesOf(pause), ...linesOf(claim)]);
    }
  }
}
