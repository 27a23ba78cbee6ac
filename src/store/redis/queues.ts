import { MillraceError } from "../../core/errors.ts";
import { partitionOf } from "../../core/partition.ts";
import { QUEUE_SETTINGS, type QueueChange, type QueueSetting, type QueueSettings, settingIn, settingsFrom } from "../../core/queue.ts";
import { tenBitsOf } from "../../lib/id.ts";
import { readField, readFigures, readTallyCell } from "../numbers.ts";
import type { CounterQuery, CounterRow, OldestPending, QueueState } from "../store.ts";
import { listOf, numberOf, type Reply, textOf } from "./codec.ts";
import { chunksOf, type Context } from "./context.ts";
import { shortId } from "./ids.ts";
import type { Keys } from "./keys.ts";
import type { Session } from "./session.ts";
import { CONFIGURE } from "./statements/queues.ts";
import { AHEAD, OLDEST } from "./statements/waiting.ts";

/**
 * Which queues there are. They are spread over partitions, so their names are in one set beside these. A name is put there before its queue
 * is first used: the queue itself remembers that it was (`known`), and a script that does not find this asks for it. So a server that lost
 * its data is told again, and nobody has to remember whom he told.
 */
export class QueueRegistry {
  readonly #session: Session;
  readonly #keys: Keys;
  /** Names that this process put there, to be put again now and then: on a Cluster the set may be lost alone. */
  readonly #told = new Set<string>();

  constructor(session: Session, keys: Keys) {
    this.#session = session;
    this.#keys = keys;
  }

  /** Calls a script that may ask for the registry first; then it is told, and called again. */
  async asked(call: (registered: "" | "1") => Promise<Reply>, queues: () => Iterable<string>): Promise<Reply> {
    const reply = await call("");
    if (!Buffer.isBuffer(reply) || textOf(reply) !== "register") return reply;
    await this.#put(queues());
    return call("1");
  }

  /** Puts names there for a script that does not ask. */
  async tell(queues: readonly string[]): Promise<void> {
    const unknown = queues.filter((queue) => !this.#told.has(queue));
    if (unknown.length > 0) await this.#put(unknown);
  }

  async #put(queues: Iterable<string>): Promise<void> {
    const names = [...new Set(queues)];
    await this.#session.command("SADD", this.#keys.queues, ...names);
    for (const name of names) this.#told.add(name);
  }

  async tellAgain(): Promise<void> {
    try {
      if (this.#told.size > 0) await this.#session.command("SADD", this.#keys.queues, ...this.#told);
    } catch (error) {
      // While memory is full what is stored stays as it is.
      if (!(error instanceof MillraceError) || error.code !== "store_full") throw error;
    }
  }

  async names(): Promise<string[]> {
    return listOf(await this.#session.command("SMEMBERS", this.#keys.queues)).map(textOf);
  }

  /** The partitions that have a queue, with the names of these. */
  async partitions(): Promise<Map<number, string[]>> {
    return Map.groupBy(await this.names(), partitionOf);
  }
}

export async function queueStates(context: Context): Promise<QueueState[]> {
  const names = await context.registry.names();
  const states: QueueState[] = [];
  for (const some of chunksOf(names)) states.push(...(await Promise.all(some.map((name) => queueState(context, name)))));
  return states;
}

async function queueState({ session, keys }: Context, name: string): Promise<QueueState> {
  const base = keys.partition(partitionOf(name));
  const [settings, tallies] = await Promise.all([
    session.command("HGETALL", `${base}:q:${name}`),
    session.command("HGETALL", `${base}:t:${name}`),
  ]);
  const fields = readHash(settings);
  const counts = [...readHash(tallies)].map(([cell, count]) => ({ ...readTallyCell(Number(cell)), count: Number(count) }));
  return { name, settings: readSettings(fields), paused: fields.get("paused") === "1", counts: counts.filter(({ count }) => count !== 0) };
}

function readHash(reply: Reply): Map<string, string> {
  const list = listOf(reply);
  const fields = new Map<string, string>();
  for (let at = 0; at < list.length; at += 2) fields.set(textOf(list[at]), textOf(list[at + 1]));
  return fields;
}

/** The field of a queue's hash. Scripts read some of them: see statements/parts.ts. */
function fieldOf({ name, group, key }: QueueSetting): string {
  return group === undefined ? name : key;
}

function readSettings(fields: ReadonlyMap<string, string>): QueueSettings {
  return settingsFrom((setting) => {
    const stored = fields.get(fieldOf(setting));
    if (stored === undefined) return setting.usual;
    if (stored === "") return null;
    return setting.kind === "flag" ? stored !== "0" : Number(stored);
  });
}

export async function configureQueue({ session, keys, feed, registry }: Context, queue: string, change: QueueChange): Promise<void> {
  const { paused } = change;
  const fields = paused === undefined ? [] : [["paused", paused ? "1" : "0"]];
  for (const setting of QUEUE_SETTINGS) {
    const value = settingIn(change, setting);
    if (value !== undefined) fields.push([fieldOf(setting), value === null ? "" : String(Number(value))]);
  }
  const call = (registered: string): Promise<Reply> =>
    session.run(CONFIGURE, keys.partition(partitionOf(queue)), [queue, registered, ...fields.flat()]);
  await registry.asked(call, () => [queue]);
  feed.ring({ topic: "queues" });
  if (paused === false) feed.ring({ topic: "work", queue });
}

/** Of each queue that has pending jobs, when the longest due of them was due. */
export async function oldestPending({ session, keys, registry }: Context): Promise<{ now: number; lanes: OldestPending[] }> {
  const calls = [...(await registry.partitions())].flatMap(([partition, queues]) =>
    chunksOf(queues).map((some) => session.run(OLDEST, keys.partition(partition), some)),
  );
  const [now, ...replies] = await Promise.all([session.now(), ...calls]);
  const lanes = replies.flatMap((reply) =>
    listOf(reply).map((lane) => {
      const [queue, type, runAt] = listOf(lane);
      return { queue: textOf(queue), type: textOf(type), runAt: Number(textOf(runAt)) };
    }),
  );
  return { now, lanes };
}

/** How many jobs of these types go before a pending one, counted up to `most`; null when it is not pending. */
export async function countAhead(
  { session, keys }: Context,
  id: string,
  types: readonly string[] | "*",
  most: number,
): Promise<number | null> {
  const wanted = types === "*" ? ["*"] : types;
  const reply = await session.run(AHEAD, keys.partition(tenBitsOf(id)), [shortId(id), String(most), ...wanted]);
  return reply === null ? null : numberOf(reply);
}

// ── Counters ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function readCounters(context: Context, query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }> {
  const { session, registry } = context;
  const partitions = query.queue === undefined ? await registry.partitions() : new Map([[partitionOf(query.queue), [query.queue]]]);
  const read = [...partitions].map(([partition, queues]) => {
    return query.step === "all" ? totalsOf(context, partition, queues) : periodsOf(context, partition, query);
  });
  const [now, ...rows] = await Promise.all([session.now(), ...read]);
  return { now, rows: rows.flat() };
}

async function totalsOf({ session, keys }: Context, partition: number, queues: readonly string[]): Promise<CounterRow[]> {
  const base = keys.partition(partition);
  const rows = await Promise.all(
    queues.map(async (queue) => toRow(queue, 0, readHash(await session.command("HGETALL", `${base}:c:${queue}`)))),
  );
  return rows.filter((row) => row !== null);
}

async function periodsOf({ session, keys }: Context, partition: number, query: CounterQuery): Promise<CounterRow[]> {
  const base = keys.partition(partition);
  const period = query.step === "hour" ? "h" : "m";
  const range = [String(query.from ?? "-inf"), query.to === undefined ? "+inf" : `(${query.to}`];
  const found = listOf(await session.command("ZRANGEBYSCORE", `${base}:p${period}`, ...range)).map((member) => textOf(member).split(" "));
  const wanted = (found as [string, string][]).filter(([, queue]) => query.queue === undefined || queue === query.queue);
  const rows: (CounterRow | null)[] = [];
  // A month of hours, or two days of minutes: some at a time.
  for (const some of chunksOf(wanted)) {
    const read = some.map(async ([start, queue]) => {
      return toRow(queue, Number(start), readHash(await session.command("HGETALL", `${base}:${period}:${start}:${queue}`)));
    });
    rows.push(...(await Promise.all(read)));
  }
  return rows.filter((row) => row !== null);
}

function toRow(queue: string, at: number, fields: ReadonlyMap<string, string>): CounterRow | null {
  if (fields.size === 0) return null;
  const cells = Array.from(fields, ([field, value]) => [Number(field), Number(value)] as const);
  return { queue, at, ...readFigures(cells, readField) };
}
