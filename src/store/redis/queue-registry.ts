import { MillraceError } from "../../core/errors.ts";
import { partitionOf } from "../../core/partition.ts";
import { listOf, type Reply, textOf } from "./codec.ts";
import type { Keys } from "./keys.ts";
import type { Session } from "./session.ts";

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
