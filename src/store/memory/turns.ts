import { USUAL_WEIGHT } from "../../core/limits.ts";
import { rank } from "../../core/rank.ts";
import { Heap, Line, type LineItem } from "./line.ts";
import type { LimitKey } from "./limit-keys.ts";
import type { StoredJob } from "./stored-job.ts";

/**
 * The pending jobs of one type, priority and limit key. Where it stands:
 *
 *   in the ring     it has jobs, and may have room
 *   asleep          it waits for a rate, or its key is held: until `order`
 *   parked          its key has as many leases as it may have: until one of them ends
 *   nowhere         it is empty
 */
export class KeyLine extends Line<StoredJob> implements LineItem {
  readonly ring: Ring;
  key: LimitKey;
  /** When it may start next, in the ring's time. */
  tag = 0;
  place: "ring" | "asleep" | "parked" | null = null;
  order = 0;
  readonly seq: number;
  spot = 0;

  constructor(ring: Ring, key: LimitKey, seq: number) {
    super();
    this.ring = ring;
    this.key = key;
    this.seq = seq;
  }
}

/** The lines of one type and priority, in the order of their tags. See TURNS in store.ts. */
export class Ring {
  readonly type: string;
  readonly priority: number;
  readonly lines = new Map<string, KeyLine>();
  readonly active = new Heap<KeyLine>();
  time = 0;
  /** The tag of the jobs without a key. */
  tagWithoutKey = 0;

  constructor(type: string, priority: number) {
    this.type = type;
    this.priority = priority;
  }

  /** A start of a line with this tag: the tag that it has next. */
  start(tag: number, weight: number): number {
    this.time = Math.max(this.time, tag);
    return this.time + 1 / weight;
  }
}

/** The pending jobs of a queue that have a limit key, in their lines. Empty lines are forgotten once their tags no longer matter. */
export class Turns {
  readonly #rings = new Map<string, Map<number, Ring>>();
  /** Lines that wait for a time, the earliest first. */
  readonly asleep = new Heap<KeyLine>();
  #lastSeq = 0;
  weightWithoutKey: number = USUAL_WEIGHT;

  /** The rings of these types. */
  of(types: Iterable<string> | "*"): Ring[] {
    if (this.#rings.size === 0) return [];
    const found = types === "*" ? [...this.#rings.values()] : [...new Set(types)].map((type) => this.#rings.get(type));
    return found.flatMap((rings) => [...(rings?.values() ?? [])]);
  }

  add(job: StoredJob): void {
    const { type, priority } = job.record;
    const key = job.queue.limitKeys.of(job.record.limitKey!);
    let ofType = this.#rings.get(type);
    if (ofType === undefined) this.#rings.set(type, (ofType = new Map()));
    let ring = ofType.get(priority);
    if (ring === undefined) ofType.set(priority, (ring = new Ring(type, priority)));
    let line = ring.lines.get(key.name);
    if (line === undefined) ring.lines.set(key.name, (line = new KeyLine(ring, key, ++this.#lastSeq)));
    line.add(job);
    if (line.place === "asleep" && line.first === job) return this.enter(line);
    if (line.place !== null) return;
    // Its key may have been forgotten while the line was empty.
    line.key = key;
    this.enter(line);
  }

  remove(job: StoredJob): void {
    const { type, priority } = job.record;
    const line = this.#rings.get(type)!.get(priority)!.lines.get(job.record.limitKey!)!;
    const wasFirst = line.first === job;
    line.remove(job);
    if (line.size === 0) this.#leave(line);
    // How long a line sleeps depends on what its first job costs.
    else if (wasFirst && line.place === "asleep") this.enter(line);
  }

  /** Puts a line into its ring. */
  enter(line: KeyLine): void {
    this.#leave(line);
    line.key.lines.add(line);
    line.place = "ring";
    line.order = line.tag;
    line.ring.active.add(line);
  }

  /** It may start at this time. */
  sleep(line: KeyLine, until: number): void {
    this.#leave(line);
    line.key.lines.add(line);
    line.place = "asleep";
    line.order = until;
    this.asleep.add(line);
  }

  /** It may start when a lease of its key ends. */
  park(line: KeyLine): void {
    this.#leave(line);
    line.key.lines.add(line);
    line.place = "parked";
  }

  /** Wakes lines whose time has come. */
  wakeAll(now: number): void {
    for (let line = this.asleep.first; line !== undefined && line.order <= now; line = this.asleep.first) this.enter(line);
  }

  /** Looks at all lines of a key again: a lease ended, or a limit changed. Whether one of them stood aside. */
  reconsider(key: LimitKey): boolean {
    const aside = [...key.lines].filter(({ place }) => place !== "ring");
    for (const line of aside) this.enter(line);
    return aside.length > 0;
  }

  /** How many jobs of these types have a lower rank than this pending one, counted up to `most`. */
  countBefore(job: StoredJob, types: readonly string[] | "*", headStartMs: number, most: number): number {
    const own = rank(job.order, job.record.priority, headStartMs);
    let count = 0;
    for (const { priority, lines } of this.of(types)) {
      const position = { order: own + priority * headStartMs, seq: job.seq };
      for (const line of lines.values()) count += line.countBefore(position, Math.max(0, most - count));
    }
    return count;
  }

  /** The ring of a type and priority, if there is one. */
  ringOf(type: string, priority: number): Ring | undefined {
    return this.#rings.get(type)?.get(priority);
  }

  /**
   * Forgets empty lines whose tags no longer matter, and rings without lines. A tag matters while others of its ring, or jobs without a key,
   * have jobs: a key that comes back would have a turn too many.
   */
  sweep(limit: number, hasWithoutKey: (ring: Ring) => boolean): number {
    let removed = 0;
    for (const [type, rings] of this.#rings) {
      for (const [priority, ring] of rings) {
        const isAtRest = !hasWithoutKey(ring) && Array.from(ring.lines.values()).every(({ size }) => size === 0);
        for (const [name, line] of ring.lines) {
          if (removed >= limit) return removed;
          if (line.size > 0 || (line.tag > ring.time && !isAtRest)) continue;
          ring.lines.delete(name);
          removed++;
        }
        if (ring.lines.size === 0 && (isAtRest || ring.tagWithoutKey <= ring.time)) rings.delete(priority);
      }
      if (rings.size === 0) this.#rings.delete(type);
    }
    return removed;
  }

  #leave(line: KeyLine): void {
    if (line.place === "ring") line.ring.active.remove(line);
    if (line.place === "asleep") this.asleep.remove(line);
    line.place = null;
    line.key.lines.delete(line);
  }
}
