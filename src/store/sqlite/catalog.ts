import { MAX_TYPES_COUNTED } from "../../core/counters.ts";
import { QUEUE_DEFAULTS, QUEUE_SETTINGS, type QueueSettings, settingIn, settingsFrom } from "../../core/queue.ts";
import type { Names, Row } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { keyedLane, plainLane } from "./lane-numbers.ts";
import {
  ADD_LANE,
  ADD_QUEUE,
  ALL_QUEUES,
  FIND_LANE,
  FIND_LANE_BY_ID,
  FIND_QUEUE,
  INTERNAL_QUEUES,
  NEW_LANES,
  NTH_LANE,
  READY_LANES,
} from "./statements.ts";

export interface QueueRow {
  readonly id: number;
  readonly name: string;
  readonly paused: boolean;
  readonly settings: QueueSettings;
  /** The sequence up to which jobs have the present head start; null if all have. */
  readonly rerankedTo: number | null;
  /** What it has had of limit keys: see KEYED. */
  readonly keyed: number;
  /** The weight of its jobs without a limit key, as core/limits.ts stores it. */
  readonly limitsWithoutKey: string | null;
}

interface Lane extends Names {
  readonly id: number;
  readonly queueId: number;
}

/** Up to this many lanes are looked at one by one; with more, empty ones are left out first. */
const FEW_LANES = 64;

/**
 * Queues and lanes by name and by number. A lane is one (queue, type); jobs and indexes hold its small number.
 *
 * Numbers never change and are kept for good. Settings are kept only within a transaction, because another process may change them.
 * A rollback may undo a number that was just given, so it clears everything.
 */
export class Catalog {
  readonly #on: Connection;
  readonly #settings = new Map<string, QueueRow>();
  readonly #queueNames = new Map<number, string>();
  readonly #lanes = new Map<number, Lane>();
  readonly #lanesByQueue = new Map<number, Map<string, number>>();
  /** The number of each lane in counters. */
  readonly #countedAs = new Map<number, number>();
  /** The last lane of a queue whose type is counted on its own, if the queue has more types than are. */
  readonly #lastCounted = new Map<number, number>();
  #learnedTo = 0;
  #turns = 0;

  constructor(on: Connection) {
    this.#on = on;
  }

  /** Call it when a transaction begins, or when settings changed within it. */
  forgetSettings(): void {
    this.#settings.clear();
  }

  forget(): void {
    this.#settings.clear();
    this.#queueNames.clear();
    this.#lanes.clear();
    this.#lanesByQueue.clear();
    this.#countedAs.clear();
    this.#lastCounted.clear();
    this.#learnedTo = 0;
  }

  /** The queue of this name; a new one gets the defaults. */
  queue(name: string): QueueRow {
    return this.findQueue(name) ?? this.#addQueue(name);
  }

  findQueue(name: string): QueueRow | null {
    const known = this.#settings.get(name);
    if (known !== undefined) return known;
    const row = this.#on.get(FIND_QUEUE, name);
    return row === undefined ? null : this.#remember(readQueueRow(row));
  }

  allQueues(): QueueRow[] {
    return this.#on.all(ALL_QUEUES).map((row) => this.#remember(readQueueRow(row)));
  }

  internalQueues(): number[] {
    return (this.#on.all(INTERNAL_QUEUES) as [number][]).map(([id]) => id);
  }

  queueById(id: number): QueueRow {
    return this.queue(this.#queueName(id));
  }

  /** The lane of a type in a queue; makes it if it is new. */
  lane(queueId: number, type: string): number {
    const known = this.#lanesByQueue.get(queueId)?.get(type);
    if (known !== undefined) return known;
    if (this.#on.get(FIND_LANE, queueId, type) === undefined) this.#on.run(ADD_LANE, queueId, type);
    const id = this.#on.number(FIND_LANE, queueId, type)!;
    this.#rememberLane(id, queueId, type);
    return id;
  }

  /** The existing lanes of these types, without those of jobs with keys. Looks them up only if one is unknown: another process may have made it. */
  lanes(queueId: number, types: readonly string[] | "*"): number[] {
    if (types === "*") return this.#allLanes(queueId);
    const wanted = new Set(types);
    const known = this.#knownLanes(queueId, wanted);
    if (known.length === wanted.size) return known;
    this.#learnLanes();
    return this.#knownLanes(queueId, wanted);
  }

  /** Of many lanes, only those with a pending job: a type that was used once must not slow down every claim. */
  #allLanes(queueId: number): number[] {
    this.#learnLanes();
    const lanes = [...(this.#lanesByQueue.get(queueId)?.values() ?? [])];
    if (lanes.length <= FEW_LANES) return lanes;
    const ready = new Set(this.readyLanes().map(plainLane));
    return [...ready].filter((lane) => this.#lanes.get(lane)?.queueId === queueId);
  }

  /** The numbers of these lanes under which jobs stand, with keys and without. */
  lanesOfAll(queueId: number, types: readonly string[] | "*"): number[] {
    const lanes = this.lanes(queueId, types);
    return this.queueById(queueId).keyed === 0 ? lanes : lanes.flatMap((lane) => [lane, keyedLane(lane)]);
  }

  /** Counts, so that of several types another one can be the first each time. */
  nextTurn(): number {
    return this.#turns++;
  }

  everyLane(): Lane[] {
    this.#learnLanes();
    return [...this.#lanes.values()];
  }

  /** With keys and without. */
  readyLanes(): number[] {
    return (this.#on.all(READY_LANES) as [number][]).map(([lane]) => lane);
  }

  #knownLanes(queueId: number, types: ReadonlySet<string>): number[] {
    const lanes = this.#lanesByQueue.get(queueId);
    return lanes === undefined ? [] : Array.from(types, (type) => lanes.get(type)).filter((lane) => lane !== undefined);
  }

  namesOf(lane: number): Names {
    return this.#laneOf(lane);
  }

  #laneOf(number: number): Lane {
    const lane = plainLane(number);
    const known = this.#lanes.get(lane);
    if (known !== undefined) return known;
    const [queueId, type] = this.#on.get(FIND_LANE_BY_ID, lane) as [number, string];
    return this.#rememberLane(lane, queueId, type);
  }

  /** The number under which the type of a lane is counted on its own; 0: it counts towards its queue only. */
  countedAs(number: number): number {
    const known = this.#countedAs.get(number);
    if (known !== undefined) return known;
    const { id: lane, queueId } = this.#laneOf(number);
    const last = this.#lastCounted.get(queueId) ?? this.#on.number(NTH_LANE, queueId, MAX_TYPES_COUNTED - 1);
    if (last !== null) this.#lastCounted.set(queueId, last);
    const counted = last === null || lane <= last ? lane : 0;
    this.#countedAs.set(number, counted);
    return counted;
  }

  /** Lanes are only ever added, so new ones have higher numbers. */
  #learnLanes(): void {
    for (const [id, queueId, type] of this.#on.all(NEW_LANES, this.#learnedTo) as [number, number, string][]) {
      this.#rememberLane(id, queueId, type);
      this.#learnedTo = id;
    }
  }

  #rememberLane(id: number, queueId: number, type: string): Lane {
    const lane = { id, queueId, type, queue: this.#queueName(queueId) };
    this.#lanes.set(id, lane);
    const ofQueue = this.#lanesByQueue.get(queueId) ?? new Map<string, number>();
    this.#lanesByQueue.set(queueId, ofQueue.set(type, id));
    return lane;
  }

  #queueName(id: number): string {
    if (!this.#queueNames.has(id)) this.allQueues();
    return this.#queueNames.get(id)!;
  }

  #addQueue(name: string): QueueRow {
    this.#on.run(ADD_QUEUE, name, ...settingValues(QUEUE_DEFAULTS));
    return this.#remember(readQueueRow(this.#on.get(FIND_QUEUE, name)!));
  }

  #remember(queue: QueueRow): QueueRow {
    this.#settings.set(queue.name, queue);
    this.#queueNames.set(queue.id, queue.name);
    return queue;
  }
}

const FIRST_SETTING = 6;

function readQueueRow(row: Row): QueueRow {
  const [id, name, paused, rerankedTo, keyed, limitsWithoutKey] = row as [number, string, number, number | null, number, string | null];
  const valueAt = (index: number): number | string | null => row[FIRST_SETTING + index] as number | string | null;
  const settings = settingsFrom(({ kind }, index) => (kind === "flag" ? valueAt(index) !== 0 : valueAt(index)));
  return { id, name, paused: paused !== 0, settings, rerankedTo, keyed, limitsWithoutKey };
}

/** Each setting as its column holds it. */
export function settingValues(settings: QueueSettings): (number | string | null)[] {
  return QUEUE_SETTINGS.map((setting) => {
    const value = settingIn(settings, setting)!;
    return typeof value === "boolean" ? Number(value) : value;
  });
}
