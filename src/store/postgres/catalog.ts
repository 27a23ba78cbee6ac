import { QUEUE_SETTINGS } from "../../core/queue.ts";
import { type Names, numbers, type Row, texts } from "./codec.ts";
import type { Connections } from "./connections.ts";
import { KEYED_MARK } from "./lines.ts";
import type { Statements } from "./statements.ts";

export interface Lane extends Names {
  /** Negative if its jobs have a limit key. */
  readonly id: number;
  readonly queueId: number;
}

/** What needs a lane. */
interface Wanted extends Names {
  readonly limitKey?: string | null;
}

/** Asks on the connection of a caller's transaction. */
type Ask = (text: string, values: readonly unknown[]) => Promise<Row[]>;

/**
 * Queues and lanes by name and by number. A lane is one (queue, type, priority), for jobs with or without a limit key; jobs and indexes
 * hold its small number.
 *
 * Numbers never change, so they are kept for good. They are committed on their own, before the jobs that need them: a caller's transaction
 * then neither holds a name that others wait for, nor undoes it when it rolls back. A number alone does not make a queue show up.
 *
 * Only `enqueue` from SQL stores names in the caller's transaction. Our own connection would wait there for the caller, who waits for us. So what
 * such a transaction has made is looked up and completed on its own connection, and not kept, because it may roll back.
 */
export class Catalog {
  readonly #connections: Connections;
  readonly #sql: Statements;
  readonly #lanes = new Map<number, Lane>();
  /** By queue, then `priority type`, as stored: the first lookup needs no new string. */
  readonly #byName = new Map<string, Map<string, Lane>>();
  readonly #queueNames = new Map<number, string>();

  constructor(connections: Connections, sql: Statements) {
    this.#connections = connections;
    this.#sql = sql;
  }

  /** The lane of each item; makes new ones. Usually all are known and it answers at once. */
  lanes(items: readonly Wanted[]): Lane[] | Promise<Lane[]> {
    return this.#known(items) ?? this.#createLanes(items);
  }

  /** As `lanes`, inside a caller's transaction. `ask` uses the caller's connection. */
  async lanesWithin(items: readonly Wanted[], ask: Ask): Promise<Lane[]> {
    const known = this.#known(items);
    if (known !== null) return known;
    const wanted = distinct(items);
    const committed = await this.#lookUp(wanted);
    const seen = committed.every(hasLane) ? [] : await ask(this.#sql.lanesByNameWithin, columnsOf(wanted));
    const theirs = wanted.filter((_, index) => isBehind(committed[index]!, seen[index]));
    const made = await this.#completeWithin(theirs, ask);
    const ours = await this.lanes(items.filter((item) => !made.has(nameOf(item))));
    const byName = new Map([...made, ...ours.map((lane) => [nameOf(lane), lane] as const)]);
    return items.map((item) => byName.get(nameOf(item))!);
  }

  /** The lane with this number, if this process knows it. */
  laneOf(id: number): Lane | undefined {
    return this.#lanes.get(id);
  }

  async learn(ids: Iterable<number>): Promise<void> {
    const unknown = [...new Set(ids)].filter((id) => !this.#lanes.has(id));
    if (unknown.length > 0) this.#remember(await this.#connections.call(this.#sql.lanesById, [numbers(unknown)]));
  }

  async queueNames(ids: readonly number[]): Promise<string[]> {
    const unknown = ids.filter((id) => !this.#queueNames.has(id));
    if (unknown.length > 0) {
      const rows = await this.#connections.call(this.#sql.queuesById, [numbers(unknown)]);
      for (const [id, name] of rows as [number, string][]) this.#queueNames.set(id, name);
    }
    return ids.map((id) => this.#queueNames.get(id)!);
  }

  /** Makes the queues that do not exist. That alone does not make them show up. */
  async addQueues(names: readonly string[]): Promise<void> {
    await this.#connections.call(this.#sql.addQueues, [texts(names), ...QUEUE_SETTINGS.map(({ usual }) => usual)]);
  }

  #known(items: readonly Wanted[]): Lane[] | null {
    const known: Lane[] = [];
    let lane: Lane | undefined;
    for (const item of items) {
      // Neighbours are often of one kind, and the lookup makes a string.
      if (lane?.type !== item.type || lane.queue !== item.queue || lane.priority !== item.priority || lane.id < 0 !== isKeyed(item)) {
        lane = this.#byName.get(item.queue)?.get(`${item.priority} ${storedType(item)}`);
      }
      if (lane === undefined) return null;
      known.push(lane);
    }
    return known;
  }

  async #createLanes(items: readonly Wanted[]): Promise<Lane[]> {
    const wanted = distinct(items);
    if (!(await this.#lookUp(wanted)).every(hasLane)) {
      await this.addQueues(wanted.map(({ queue }) => queue));
      await this.#connections.call(this.#sql.addLanes, columnsOf(wanted));
      await this.#lookUp(wanted);
    }
    return this.#known(items)!;
  }

  async #lookUp(wanted: readonly Wanted[]): Promise<Row[]> {
    const rows = await this.#connections.call(this.#sql.lanesByName, columnsOf(wanted));
    this.#remember(rows.filter(hasLane));
    return rows;
  }

  /** Adds lanes to queues that the caller's transaction has made. */
  async #completeWithin(wanted: readonly Wanted[], ask: Ask): Promise<Map<string, Lane>> {
    if (wanted.length === 0) return new Map();
    await ask(this.#sql.addLanesWithin, columnsOf(wanted));
    const rows = await ask(this.#sql.lanesByNameWithin, columnsOf(wanted));
    return new Map(rows.map(toLane).map((lane) => [nameOf(lane), lane]));
  }

  #remember(rows: readonly Row[]): void {
    for (const lane of rows.map(toLane)) {
      this.#lanes.set(lane.id, lane);
      this.#queueNames.set(lane.queueId, lane.queue);
      const ofQueue = this.#byName.get(lane.queue) ?? new Map<string, Lane>();
      this.#byName.set(lane.queue, ofQueue.set(`${lane.priority} ${storedType(lane)}`, lane));
    }
  }
}

/** A row of a lane, as statements answer it. */
export function toLane(row: Row): Lane {
  const [id, queueId, queue, type, priority] = row as [number, number, string, string, number];
  return { id, queueId, queue, type: type.endsWith(KEYED_MARK) ? type.slice(0, -1) : type, priority };
}

function isKeyed(item: Wanted | Lane): boolean {
  return "queueId" in item ? item.id < 0 : item.limitKey !== null && item.limitKey !== undefined;
}

function storedType(item: Wanted | Lane): string {
  return isKeyed(item) ? item.type + KEYED_MARK : item.type;
}

function hasLane([id]: Row): boolean {
  return id !== null;
}

/** Whether the caller's transaction sees a lane or queue that is not committed. */
function isBehind([lane, queue]: Row, seen: Row | undefined): boolean {
  return seen !== undefined && ((lane === null && seen[0] !== null) || (queue === null && seen[1] !== null));
}

function nameOf(item: Wanted | Lane): string {
  return `${item.priority} ${storedType(item)} ${item.queue}`;
}

function distinct(items: readonly Wanted[]): Wanted[] {
  return [...new Map(items.map((item) => [nameOf(item), item])).values()];
}

function columnsOf(wanted: readonly Wanted[]): string[] {
  return [texts(wanted.map(({ queue }) => queue)), texts(wanted.map(storedType)), numbers(wanted.map(({ priority }) => priority))];
}
