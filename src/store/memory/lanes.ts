import type { JobRecord } from "../../core/job.ts";
import { rank } from "../../core/rank.ts";
import { Heap, Line, type LineItem } from "./line.ts";

/** What lanes need to know of a job. Its order is the time from which its rank counts. */
interface Pending extends LineItem {
  readonly record: Pick<JobRecord, "type" | "priority">;
}

/** The pending jobs of one type and one priority, the longest due first. */
class Lane<Job extends Pending> extends Line<Job> implements LineItem {
  readonly type: string;
  readonly priority: number;
  /** Rank and sequence of its first job, for a claim that merges lanes. */
  order = 0;
  seq = 0;
  spot = 0;

  constructor(type: string, priority: number) {
    super();
    this.type = type;
    this.priority = priority;
  }

  updateOrder(headStartMs: number): void {
    const first = this.first!;
    this.order = rank(first.order, this.priority, headStartMs);
    this.seq = first.seq;
  }
}

/**
 * The pending jobs of a queue. A lane holds one type, so that jobs without a handler slow down no others, and one priority, so that the
 * order within it does not depend on the queue's head start. Merging lanes applies the head start, so changing it needs no new ranks. Only
 * lanes with jobs are kept, because users may invent any number of types.
 */
export class Lanes<Job extends Pending> {
  readonly #byType = new Map<string, Map<number, Lane<Job>>>();

  add(job: Job): void {
    const { type, priority } = job.record;
    let ofType = this.#byType.get(type);
    if (ofType === undefined) this.#byType.set(type, (ofType = new Map()));
    let lane = ofType.get(priority);
    if (lane === undefined) ofType.set(priority, (lane = new Lane(type, priority)));
    lane.add(job);
  }

  remove(job: Job): void {
    this.#removeFrom(this.#byType.get(job.record.type)!.get(job.record.priority)!, job);
  }

  /** Removes and returns up to `limit` jobs of these types, the lowest rank first. */
  take(types: readonly string[] | "*", limit: number, headStartMs: number): Job[] {
    const taken: Job[] = [];
    const heads = this.#merge(types, headStartMs);
    while (taken.length < limit) {
      const lane = heads.first;
      if (lane === undefined) break;
      const job = lane.first!;
      taken.push(job);
      this.#removeFrom(lane, job);
      if (lane.size === 0) heads.remove(lane);
      else if (heads.size > 1) {
        lane.updateOrder(headStartMs);
        heads.sinkFirst();
      }
    }
    return taken;
  }

  /** The job of these types with the lowest rank. */
  first(types: readonly string[] | "*", headStartMs: number): Job | undefined {
    return this.#merge(types, headStartMs).first?.first;
  }

  /** The longest due job of a type and priority. */
  firstOf(type: string, priority: number): Job | undefined {
    return this.#byType.get(type)?.get(priority)?.first;
  }

  /** Of each type, when its longest due job was due. */
  oldest(): { readonly type: string; readonly runAt: number }[] {
    return Array.from(this.#byType, ([type, lanes]) => {
      let runAt = Infinity;
      for (const lane of lanes.values()) runAt = Math.min(runAt, lane.first!.order);
      return { type, runAt };
    });
  }

  /** The lanes of a type, or of all types. */
  of(type?: string): Lane<Job>[] {
    const ofTypes = type === undefined ? [...this.#byType.values()] : [this.#byType.get(type)];
    return ofTypes.flatMap((lanes) => [...(lanes?.values() ?? [])]);
  }

  /** How many jobs of these types come before this pending one, counted up to `most`. */
  countBefore(job: Job, types: readonly string[] | "*", headStartMs: number, most: number): number {
    const own = rank(job.order, job.record.priority, headStartMs);
    let count = 0;
    for (const type of types === "*" ? this.#byType.keys() : new Set(types)) {
      for (const lane of this.#byType.get(type)?.values() ?? []) {
        // The order of a job with the same rank in a lane of that priority.
        const order = own + lane.priority * headStartMs;
        count += lane.countBefore({ order, seq: job.seq }, most - count);
      }
    }
    return count;
  }

  #merge(types: readonly string[] | "*", headStartMs: number): Heap<Lane<Job>> {
    const heads = new Heap<Lane<Job>>();
    // A type that is named twice must not add its lanes twice.
    const wanted = types === "*" ? this.#byType.keys() : new Set(types);
    for (const type of wanted) {
      for (const lane of this.#byType.get(type)?.values() ?? []) {
        lane.updateOrder(headStartMs);
        heads.add(lane);
      }
    }
    return heads;
  }

  #removeFrom(lane: Lane<Job>, job: Job): void {
    lane.remove(job);
    if (lane.size > 0) return;
    const ofType = this.#byType.get(lane.type)!;
    ofType.delete(lane.priority);
    if (ofType.size === 0) this.#byType.delete(lane.type);
  }
}
