import { decodeLimits, type QueueLimits } from "../../core/limits.ts";
import { rank, STRICT_HEAD_START_MS } from "../../core/rank.ts";
import { rescaleRate, takeFromRate, waitForRate } from "../../core/rate.ts";
import type { StoredQueue } from "./queues.ts";
import type { StoredJob } from "./stored-job.ts";
import { type KeyLine, Ring } from "./turns.ts";

type Types = readonly string[] | "*";

/** The next job that its line and its key let start. `take` tells them that it does. */
interface Next {
  readonly job: StoredJob;
  readonly take: () => void;
}

/**
 * Takes up to `limit` pending jobs of a queue that may start now, in order, and grants each at once: its lease counts for the next one. Returns
 * when the next may start, if one waits for a rate or a held key. See LIMITS and TURNS in store.ts.
 */
export function takeJobs(queue: StoredQueue, types: Types, limit: number, now: number, grant: (job: StoredJob) => void): number | null {
  const limits = decodeLimits(queue.settings.limits);
  const { headStartMs } = queue.settings;
  const most = limits.running === null ? limit : Math.min(limit, limits.running - queue.running);
  queue.turns.wakeAll(now);
  const rings = queue.turns.of(types);
  if (rings.length === 0 && limits.rate === null) queue.lanes.take(types, most, headStartMs).forEach(grant);
  else {
    const isStrict = headStartMs === STRICT_HEAD_START_MS;
    const next =
      isStrict && rings.some(({ active }) => active.size > 0) ? inTurns(queue, types, limits, now) : byRank(queue, types, limits, now);
    const wait = takeWhileRate(queue, limits, most, now, next, grant);
    if (wait !== null) return wait;
  }
  const asleep = queue.turns.asleep.first;
  return asleep === undefined ? null : asleep.order - now;
}

/** Returns how long the rate of the queue lets the next job wait. */
function takeWhileRate(
  queue: StoredQueue,
  limits: QueueLimits,
  most: number,
  now: number,
  next: () => Next | null,
  grant: (job: StoredJob) => void,
): number | null {
  if (limits.rate !== null) queue.rate = rescaleRate(limits.rate, queue.rate, now);
  for (let taken = 0; taken < most; taken++) {
    const found = next();
    if (found === null) return null;
    const { job, take } = found;
    const cost = costOf(job);
    if (limits.rate !== null && cost > 0) {
      const wait = waitForRate(limits.rate, queue.rate, cost, now);
      if (wait > 0) return wait;
      queue.rate = takeFromRate(limits.rate, queue.rate, cost, now);
    }
    take();
    if (job.record.limitKey === null) queue.lanes.remove(job);
    else {
      queue.turns.remove(job);
      const key = queue.limitKeys.of(job.record.limitKey);
      key.take(key.limits(limits), cost, now);
    }
    grant(job);
  }
  return null;
}

/** How many units of its rates the start of a job takes. One that was suspended has paid. */
function costOf({ isResumed, record }: StoredJob): number {
  return isResumed ? 0 : record.cost;
}

/** The lowest rank first. */
function byRank(queue: StoredQueue, types: Types, limits: QueueLimits, now: number): () => Next | null {
  const { headStartMs } = queue.settings;
  const rankOf = (job: StoredJob): number => rank(job.order, job.record.priority, headStartMs);
  const rings = queue.turns.of(types);
  return () => {
    for (;;) {
      let best = queue.lanes.first(types, headStartMs) ?? null;
      let line: KeyLine | null = null;
      for (const ring of rings) {
        for (const candidate of ring.active) {
          const job = candidate.first!;
          const isBefore = best === null || rankOf(job) < rankOf(best) || (rankOf(job) === rankOf(best) && job.seq < best.seq);
          if (isBefore) [best, line] = [job, candidate];
        }
      }
      if (best === null) return null;
      if (line === null)
        return { job: best, take: () => startWithoutKey(queue, queue.turns.ringOf(best.record.type, best.record.priority)) };
      if (mayStart(queue, line, limits, now)) return { job: best, take: () => {} };
    }
  };
}

/** What the jobs of one type and priority are taken from. */
interface Source {
  readonly ring: Ring;
  taken: number;
}

/** By priority, then types in turn, then lines in turn. */
function inTurns(queue: StoredQueue, types: Types, limits: QueueLimits, now: number): () => Next | null {
  const sources = sourcesOf(queue, types);
  return () => {
    while (sources.length > 0) {
      const source = nextSource(sources);
      const found = nextInRing(queue, source.ring, limits, now);
      if (found === null) sources.splice(sources.indexOf(source), 1);
      else return { ...found, take: () => (source.taken++, found.take()) };
    }
    return null;
  };
}

/** Each ring of these types, and each lane, whose type and priority may have no ring yet. In another order each time, so that no type is always the first. */
function sourcesOf(queue: StoredQueue, types: Types): Source[] {
  const rings = new Map(queue.turns.of(types).map((ring) => [`${ring.priority} ${ring.type}`, ring]));
  for (const type of types === "*" ? [undefined] : new Set(types)) {
    for (const { type: ofLane, priority } of queue.lanes.of(type)) {
      const name = `${priority} ${ofLane}`;
      if (!rings.has(name)) rings.set(name, new Ring(ofLane, priority));
    }
  }
  const sources = Array.from(rings.values(), (ring) => ({ ring, taken: 0 }));
  const first = ++queue.claims % Math.max(1, sources.length);
  return [...sources.slice(first), ...sources.slice(0, first)];
}

/** Of the highest priority, the one that gave the fewest so far. */
function nextSource(sources: readonly Source[]): Source {
  return sources.reduce((best, source) => {
    const more = source.ring.priority - best.ring.priority;
    return more > 0 || (more === 0 && source.taken < best.taken) ? source : best;
  });
}

/** The line with the lowest tag, unless it has to stand aside; jobs without a key are a line, too. */
function nextInRing(queue: StoredQueue, ring: Ring, limits: QueueLimits, now: number): Next | null {
  for (;;) {
    const line = ring.active.first;
    const plain = queue.lanes.firstOf(ring.type, ring.priority);
    if (line === undefined || (plain !== undefined && comesFirst(ring, plain, line))) {
      return plain === undefined ? null : { job: plain, take: () => startWithoutKey(queue, ring) };
    }
    if (!mayStart(queue, line, limits, now)) continue;
    const take = (): void => {
      line.tag = ring.start(line.tag, line.key.limits(limits).weight);
      queue.turns.enter(line);
    };
    return { job: line.first!, take };
  }
}

/** It counts as a turn also while no line with a key has jobs: so the tags of empty lines come to matter no longer, and are forgotten. */
function startWithoutKey(queue: StoredQueue, ring: Ring | undefined): void {
  if (ring !== undefined) ring.tagWithoutKey = ring.start(ring.tagWithoutKey, queue.turns.weightWithoutKey);
}

/** Whether the jobs without a key start before this line. If both may start at the same time, the job that came first does. */
function comesFirst(ring: Ring, plain: StoredJob, line: KeyLine): boolean {
  const [ours, its] = [Math.max(ring.tagWithoutKey, ring.time), Math.max(line.tag, ring.time)];
  return ours < its || (ours === its && plain.seq < line.first!.seq);
}

/** Whether the key of a line has room for its first job. If not, the line stands aside. */
function mayStart(queue: StoredQueue, line: KeyLine, limits: QueueLimits, now: number): boolean {
  const { key } = line;
  const wait = key.waitMs(key.limits(limits), costOf(line.first!), now);
  if (wait === null) queue.turns.park(line);
  else if (wait > 0) queue.turns.sleep(line, now + wait);
  return wait === 0;
}
