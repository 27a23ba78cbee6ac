import type { Connections } from "./connections.ts";
import type { Statements } from "./statements.ts";
import { addTopic, payloadsOf, subjectOf, type Topic } from "./topics.ts";

/** At most one notification for each topic in this time: NOTIFY takes a lock that all notifying commits of the server share. */
const PAUSE_MS = 10;

/**
 * Tells other processes what changed, in a small statement after the commit. The first word goes at once; what comes within the next
 * milliseconds goes together, so that a busy process sends some hundred notifications a second, whatever it does.
 */
export class Notifier {
  readonly #connections: Connections;
  readonly #sql: Statements;
  readonly #channel: string;
  readonly #sender: string;
  /** When something was last sent about a subject, and what waits to be sent about it. */
  readonly #sentAt = new Map<string, number>();
  readonly #waiting = new Map<string, Topic>();
  #timer: NodeJS.Timeout | null = null;

  constructor(connections: Connections, sql: Statements, channel: string, sender: string) {
    this.#connections = connections;
    this.#sql = sql;
    this.#channel = channel;
    this.#sender = sender;
  }

  tell(topics: Iterable<Topic>): void {
    const now = performance.now();
    const fresh = new Map<string, Topic>();
    for (const topic of topics) {
      const sentAt = this.#sentAt.get(subjectOf(topic)) ?? Number.NEGATIVE_INFINITY;
      addTopic(now - sentAt < PAUSE_MS ? this.#waiting : fresh, topic);
    }
    if (fresh.size > 0) this.#send([...fresh.values()], now);
    if (this.#waiting.size > 0) this.#timer ??= setTimeout(() => this.flush(), PAUSE_MS);
  }

  /** Sends what waits. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#waiting.size === 0) return;
    const topics = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#send(topics, performance.now());
  }

  #send(topics: readonly Topic[], now: number): void {
    for (const topic of topics) this.#sentAt.set(subjectOf(topic), now);
    for (const payload of payloadsOf(this.#sender, topics)) {
      // A hint that is lost costs a delay.
      this.#connections.call(this.#sql.notify, [this.#channel, payload]).catch(() => {});
    }
  }
}
