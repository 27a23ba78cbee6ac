import { partitionOf } from "../../core/partition.ts";
import {
  QUEUE_SETTINGS,
  type QueueChange,
  type QueueSetting,
  type QueueSettings,
  settingIn,
  settingsFrom,
  type SettingValue,
} from "../../core/queue.ts";
import { tenBitsOf } from "../../lib/id.ts";
import { readTallyCell } from "../numbers.ts";
import type { OldestPending, QueueState } from "../store.ts";
import { listOf, numberOf, type Reply, textOf } from "./codec.ts";
import { chunksOf, type Context, unlessFull } from "./context.ts";
import { bringToForm, noteForms, readForms, refuseBesideWorkers } from "./form.ts";
import { shortId } from "./ids.ts";
import type { Keys } from "./keys.ts";
import type { Session } from "./session.ts";
import { CONFIGURE } from "./statements/queues.ts";
import { AHEAD, OLDEST } from "./statements/waiting.ts";

/** The names of all queues, as they are stored. */
export async function queueNames(session: Session, keys: Keys): Promise<string[]> {
  return listOf(await session.command("SMEMBERS", keys.queues)).map(textOf);
}

/**
 * The names of all queues. Queues are spread over partitions, so one set outside of them has their names. A name is added before its queue
 * is first used. The queue itself remembers that (`known`), and a script that does not find this asks for it. So a server that lost its
 * data gets the names again, and no process has to remember which ones it added.
 *
 * With its first queue a partition gets its form, and nobody gets the name of a queue before its partition has it (see form.ts).
 */
export class QueueRegistry {
  readonly #session: Session;
  readonly #keys: Keys;
  /** Names that this process added, to add them again now and then: on a Cluster the set alone may be lost. */
  readonly #registered = new Set<string>();
  /** Partitions that have the present form. */
  readonly #formed = new Set<number>();

  constructor(session: Session, keys: Keys) {
    this.#session = session;
    this.#keys = keys;
  }

  /** Reads which partitions have the present form, and gives it to the others. `onMove` is called if jobs have to be moved. */
  async open(onMove: () => void): Promise<void> {
    const [{ isOpened, partitions }, names] = await Promise.all([
      readForms(this.#session, this.#keys),
      queueNames(this.#session, this.#keys),
    ]);
    for (const partition of partitions) this.#formed.add(partition);
    if (!isOpened) {
      await refuseBesideWorkers(this.#session, this.#keys, names);
      await noteForms(this.#session, this.#keys, []);
    }
    await this.#formOthers(names, onMove);
  }

  /** Calls a script; if it asks for registration, registers the queues and calls it again. */
  async callRegistered(call: (registered: "" | "1") => Promise<Reply>, queues: () => Iterable<string>): Promise<Reply> {
    const reply = await call("");
    if (!Buffer.isBuffer(reply) || textOf(reply) !== "register") return reply;
    await this.#add(queues());
    return call("1");
  }

  /** Registers queues for a script that does not ask. */
  async register(queues: readonly string[]): Promise<void> {
    const unknown = queues.filter((queue) => !this.#registered.has(queue));
    if (unknown.length > 0) await this.#add(unknown);
  }

  async #add(queues: Iterable<string>): Promise<void> {
    const names = [...new Set(queues)];
    await this.#session.command("SADD", this.#keys.queues, ...names);
    await this.#form(names);
    for (const name of names) this.#registered.add(name);
  }

  async registerAgain(): Promise<void> {
    if (this.#registered.size > 0) await unlessFull(this.#session.command("SADD", this.#keys.queues, ...this.#registered));
  }

  async names(): Promise<string[]> {
    const names = await queueNames(this.#session, this.#keys);
    await this.#formOthers(names);
    return names;
  }

  /** The partitions with their queues. */
  async partitions(): Promise<Map<number, string[]>> {
    return Map.groupBy(await this.names(), partitionOf);
  }

  /** Gives the present form to the partitions of these queues that are not known to have it. */
  async #formOthers(queues: readonly string[], onMove?: () => void): Promise<void> {
    const others = queues.filter((queue) => !this.#formed.has(partitionOf(queue)));
    if (others.length > 0) await this.#form(others, onMove);
  }

  async #form(queues: readonly string[], onMove: () => void = () => {}): Promise<void> {
    const partitions = await bringToForm(this.#session, this.#keys, queues, onMove);
    const added = partitions.filter((partition) => !this.#formed.has(partition));
    if (added.length === 0) return;
    await noteForms(this.#session, this.#keys, added);
    for (const partition of added) this.#formed.add(partition);
  }
}

export async function queueStates(context: Context): Promise<QueueState[]> {
  const names = await context.registry.names();
  const states: QueueState[] = [];
  for (const some of chunksOf(names)) states.push(...(await Promise.all(some.map((name) => queueState(context, name)))));
  return states;
}

export async function queueState({ session, keys }: Context, name: string): Promise<QueueState> {
  const partition = partitionOf(name);
  const [settings, tallies] = await Promise.all([
    session.command("HGETALL", keys.settings(partition, name)),
    session.command("HGETALL", `${keys.partition(partition)}:t:${name}`),
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
    if (setting.kind === "text") return stored;
    return setting.kind === "flag" ? stored !== "0" : Number(stored);
  });
}

function encodeSetting(value: SettingValue): string {
  if (value === null) return "";
  return typeof value === "string" ? value : String(Number(value));
}

export async function configureQueue({ session, keys, feed, registry }: Context, queue: string, change: QueueChange): Promise<void> {
  const { paused } = change;
  const fields = paused === undefined ? [] : [["paused", paused ? "1" : "0"]];
  for (const setting of QUEUE_SETTINGS) {
    const value = settingIn(change, setting);
    if (value !== undefined) fields.push([fieldOf(setting), encodeSetting(value)]);
  }
  const call = (registered: string): Promise<Reply> =>
    session.run(CONFIGURE, keys.partition(partitionOf(queue)), [queue, registered, ...fields.flat()]);
  await registry.callRegistered(call, () => [queue]);
  feed.sendHint({ topic: "queues" });
  if (paused === false) feed.sendHint({ topic: "work", queue });
}

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
