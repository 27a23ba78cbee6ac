import { QUEUE_SETTINGS } from "../../core/queue.ts";
import { type Names, numbers, type Row, texts } from "./codec.ts";
import type { Connections } from "./connections.ts";
import type { Statements } from "./statements.ts";

export interface Lane extends Names {
  readonly id: number;
  readonly queueId: number;
}

/**
 * Queues and lanes by name and by number. A lane is one (queue, type, priority); jobs and indexes hold its small number.
 *
 * Numbers never change, so they are kept for good. They are committed on their own, before the jobs that need them: a caller's transaction
 * then neither holds a name that others wait for, nor undoes it when it rolls back. A number alone does not make a queue show up.
 */
export class Catalog {
  readonly #connections: Connections;
  readonly #sql: Statements;
  readonly #lanes = new Map<number, Lane>();
  /** By queue, then `priority type`: the first lookup needs no new string. */
  readonly #byName = new Map<string, Map<string, Lane>>();
  readonly #queueNames = new Map<number, string>();

  constructor(connections: Connections, sql: Statements) {
    this.#connections = connections;
    this.#sql = sql;
  }

  /** The lane of each item; makes new ones. Usually all are known and it answers at once. */
  lanes(items: readonly Names[]): Lane[] | Promise<Lane[]> {
    const known: Lane[] = [];
    for (const item of items) {
      const lane = this.#byName.get(item.queue)?.get(`${item.priority} ${item.type}`);
      if (lane === undefined) return this.#createLanes(items);
      known.push(lane);
    }
    return known;
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

  async #createLanes(items: readonly Names[]): Promise<Lane[]> {
    const wanted = [...new Map(items.map((item) => [`${item.priority} ${item.type} ${item.queue}`, item])).values()];
    const columns = [
      texts(wanted.map(({ queue }) => queue)),
      texts(wanted.map(({ type }) => type)),
      numbers(wanted.map(({ priority }) => priority)),
    ];
    let rows = await this.#connections.call(this.#sql.lanesByName, columns);
    if (rows.length < wanted.length) {
      await this.addQueues(wanted.map(({ queue }) => queue));
      await this.#connections.call(this.#sql.addLanes, columns);
      rows = await this.#connections.call(this.#sql.lanesByName, columns);
    }
    this.#remember(rows);
    return items.map((item) => this.#byName.get(item.queue)!.get(`${item.priority} ${item.type}`)!);
  }

  #remember(rows: readonly Row[]): void {
    for (const [id, queueId, queue, type, priority] of rows as [number, number, string, string, number][]) {
      const lane = { id, queueId, queue, type, priority };
      this.#lanes.set(id, lane);
      this.#queueNames.set(queueId, queue);
      const ofQueue = this.#byName.get(queue) ?? new Map<string, Lane>();
      this.#byName.set(queue, ofQueue.set(`${priority} ${type}`, lane));
    }
  }
}
