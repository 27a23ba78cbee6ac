import type { Bench, Family } from "./family.ts";
import { Health, overlaps, type Span } from "./health.ts";
import type { WorkerLife } from "./history.ts";
import { happened, type JobStory, leasesOf, linesOf, mayHaveHappened, type Moment, settlementOf } from "./story.ts";

/**
 * The promise is a second. What is added is for what the promise does not speak of: a worker that heard no hint looks again after up to 1.25 s,
 * and on two cores that a dozen processes share, the claim and the handler each may have to wait their turn. Only unbroken healthy time counts
 * (health.ts): a machine that is too busy for pulses and probes, or a store that takes no write, ends it, and it begins anew.
 */
const PROGRESS_WITHIN_MS = 1_000 + 1_500;
/** A lease that was granted and whose holder was healthy for so long of its time comes to a handler. */
const SEEN_WITHIN_MS = 1_000;
/** Jobs that waited for less are not looked at: they prove nothing. */
const LEAST_WAIT_MS = 500;

/** A job that surely could be claimed, and was not. */
interface Waited extends Span {
  readonly job: string;
  readonly queue: string;
  readonly type: string;
  /** Who took it in the end, and when the answer to that claim came: until then it had not started. */
  readonly taker: string;
  readonly started: Moment;
  readonly sentAt: number;
}

/** A handler that ran, and had a slot. */
type Ran = Span;

/** A lost attempt of which no handler knows. */
interface Unseen {
  readonly job: string;
  readonly attempt: number;
  readonly worker: string;
  readonly from: number;
  readonly lines: (number | null)[];
}

/** How long workers were healthy, and how long the longest of them waited in vain. */
export interface HealthFigures {
  readonly healthyMs: number;
  readonly longestWithoutMs: number;
}

/** Progress of healthy workers, and attempts that were lost before a handler saw them. */
export const progress: Family = {
  covers: ["progress", "unseen"],
  begin(bench) {
    const watch = new ProgressWatch(bench);
    return { job: (story) => watch.job(story), end: () => watch.end() };
  },
};

class ProgressWatch {
  readonly #bench: Bench;
  readonly #runs = new Map<string, Ran[]>();
  readonly #waited: Waited[] = [];
  readonly #unseen: Unseen[] = [];
  /** Jobs that a stranger held: they could not be claimed, and their reports had to wait. */
  readonly #held: ReadonlySet<string>;
  /** Queues that were paused, or have limits: their jobs may have to wait. */
  readonly #paused: ReadonlySet<string>;

  constructor(bench: Bench) {
    const { faults, configures } = bench.history;
    this.#bench = bench;
    this.#held = new Set(faults.flatMap(({ jobs = [] }) => jobs));
    this.#paused = new Set(
      configures.flatMap(({ ask }) => (ask.change.paused === true || typeof ask.change.limits === "string" ? [ask.queue] : [])),
    );
  }

  job(story: JobStory): void {
    for (const start of story.starts) {
      const end = story.ends.find(({ fence }) => fence === start.fence)?.at ?? suspendedAt(story, start.fence);
      const report = this.#held.has(story.id) ? story.settles.find(({ ask }) => ask.fence === start.fence) : undefined;
      const runs = this.#runs.get(start.worker) ?? [];
      this.#runs.set(start.worker, runs);
      runs.push({ from: start.at, to: report === undefined ? end : (report.answered?.at ?? Infinity) });
      if (end !== Infinity && report !== undefined) runs.push({ from: end, to: end });
    }
    this.#noteWait(story);
    this.#noteUnseen(story);
  }

  end(): void {
    const health = new Health(this.#bench.history);
    const figures = { healthyMs: 0, longestWithoutMs: 0 };
    for (const life of this.#bench.history.workers.values()) {
      const runs = this.#runs.get(life.worker) ?? [];
      const times = runs.flatMap(({ from, to }) => (to === Infinity ? [from] : [from, to])).sort((a, b) => a - b);
      const healthy = health.of(life, times);
      figures.healthyMs += healthy.reduce((sum, { from, to }) => sum + to - from, 0);
      figures.longestWithoutMs = Math.max(figures.longestWithoutMs, this.#checkWorker(life, runs, times, healthy));
      this.#checkUnseen(life, healthy);
    }
    this.#bench.options.onHealth?.(figures);
  }

  /** From when it was surely stored as pending to when the first claim took it. What was cancelled, or taken unheard, proves nothing. */
  #noteWait(story: JobStory): void {
    const sending = story.sendings.find(happened);
    const [first] = leasesOf(story);
    if (sending === undefined || sending.answered === null || first?.fence !== 1) return;
    if ((sending.answer.status ?? "pending") !== "pending") return;
    const { queue, type, limitKey } = sending.sent;
    if (this.#held.has(story.id) || this.#paused.has(queue) || limitKey !== undefined) return;
    const isTouched = [...story.cancels, ...story.removes, ...story.retries, ...story.runNows].some(mayHaveHappened);
    const span = { from: sending.answered.at, to: first.invoked.at };
    if (isTouched || first.answered.at - span.from < LEAST_WAIT_MS) return;
    this.#waited.push({ ...span, job: story.id, queue, type, taker: first.worker, started: first.answered, sentAt: sending.answered.line });
  }

  /**
   * The longest time without progress; if it is too long, that is told, once a worker. Between two signs of progress the worker ran the same
   * handlers all the time: it had a slot free in all of it, or in none.
   */
  #checkWorker({ worker, up }: WorkerLife, runs: readonly Ran[], times: readonly number[], healthy: readonly Span[]): number {
    const waited = this.#waited.filter(({ queue, type }) => up.queues.includes(queue) && (up.types === "*" || up.types.includes(type)));
    let longest = 0;
    let tell = (): void => {};
    for (const { from, to } of healthy.flatMap((span) => between(times, span))) {
      if (to - from <= Math.max(longest, LEAST_WAIT_MS)) continue;
      const busy = runs.filter((run) => run.from <= from && run.to > from).length;
      if (busy >= up.slots) continue;
      for (const wait of waited) {
        const [idle] = overlaps([{ from, to }], [{ from: wait.from, to: wait.taker === worker ? wait.started.at : wait.to }]);
        const ms = idle === undefined ? 0 : idle.to - idle.from;
        if (ms <= longest) continue;
        longest = ms;
        const says = `worker ${worker} started and ended nothing for ${Math.round(ms)} healthy ms with ${busy} of ${up.slots} slots taken, and this job waited`;
        tell = () => this.#bench.report("progress", wait.job, says, [up.line, wait.sentAt, wait.started.line]);
      }
    }
    if (longest > PROGRESS_WITHIN_MS) tell();
    return longest;
  }

  /** The attempts that the store itself calls lost, and that no handler has begun. */
  #noteUnseen(story: JobStory): void {
    const { clock } = this.#bench.history;
    const leases = leasesOf(story);
    for (const { number, kind, worker, startedAt } of story.stored[0]?.attempts ?? []) {
      if (kind !== "lost") continue;
      const grants = leases.filter(({ attempt }) => attempt === number);
      if (grants.some(({ fence }) => story.starts.some((start) => start.fence === fence))) continue;
      const grant = grants.at(-1);
      const holder = grant?.worker ?? worker ?? null;
      const from = grant?.invoked.at ?? (startedAt === undefined ? null : clock.whenItWas(startedAt));
      if (holder === null || from === null) continue;
      const lines = [grant?.answered.line ?? null, ...(grant === undefined ? [] : linesOfEnd(story, grant)), story.stored[0]!.line];
      this.#unseen.push({ job: story.id, attempt: number, worker: holder, from, lines });
    }
  }

  #checkUnseen({ worker, up }: WorkerLife, healthy: readonly Span[]): void {
    for (const unseen of this.#unseen) {
      if (unseen.worker !== worker) continue;
      const good = overlaps(healthy, [{ from: unseen.from, to: unseen.from + up.leaseMs }]).find(
        ({ from, to }) => to - from >= SEEN_WITHIN_MS,
      );
      if (good === undefined) continue;
      const says = `attempt ${unseen.attempt} was lost, no handler ever saw it, and worker ${worker} was healthy for ${Math.round(good.to - good.from)} ms of its lease`;
      this.#bench.report("unseen", unseen.job, says, [up.line, ...unseen.lines]);
    }
  }
}

/** A handler that is suspended never ends; its slot is free when its worker says so. */
function suspendedAt({ settles }: JobStory, fence: number): number {
  return settles.find(({ ask }) => ask.fence === fence && ask.outcome === "suspend")?.invoked.at ?? Infinity;
}

function linesOfEnd(story: JobStory, grant: Parameters<typeof settlementOf>[1]): (number | null)[] {
  const settle = settlementOf(story, grant);
  return settle === null ? [] : linesOf(settle);
}

/** The pieces of a stretch between the moments that fall into it. */
function between(times: readonly number[], { from, to }: Span): Span[] {
  const inside = times.slice(firstAfter(times, from), firstAfter(times, to));
  return [from, ...inside].map((start, index) => ({ from: start, to: inside[index] ?? to }));
}

/** The index of the first moment after that one. */
function firstAfter(times: readonly number[], at: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
