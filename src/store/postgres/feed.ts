import { randomUUID } from "node:crypto";
import type { Event } from "../../core/event.ts";
import type { Clock } from "../../lib/clock.ts";
import { EarliestTold } from "../../lib/earliest-told.ts";
import { Listeners } from "../listeners.ts";
import { NewsWanted } from "../news-wanted.ts";
import type { Feed, Hint } from "../store.ts";
import type { Connections } from "./connections.ts";
import { ListeningConnection } from "./listening-connection.ts";
import { NewsReader } from "./news.ts";
import type { Statements } from "./statements.ts";
import { NEWS, Notifier, readPayload, readTopic, topicOf } from "./notifications.ts";

export interface PostgresFeedOptions {
  readonly connections: Connections;
  readonly sql: Statements;
  readonly clock: Clock;
  readonly channel: string;
  readonly now: () => number | null;
}

/**
 * How processes hear of each other: by NOTIFY, which is only a hint. This process's own commits send their hints here directly. The
 * listening connection is open only while somebody listens.
 */
export class PostgresFeed implements Feed {
  readonly #options: PostgresFeedOptions;
  readonly #sender = randomUUID().slice(0, 8);
  readonly #watchers = new Listeners<Hint>({ onFirst: () => this.#connection.start(), onLast: () => this.#disconnectIfUnused() });
  readonly #listeners = new Listeners<readonly Event[]>({ onFirst: () => this.#startNews(), onLast: () => this.#stopNews() });
  readonly #newsWanted: NewsWanted;
  readonly #notifier: Notifier;
  readonly #earliestTold = new EarliestTold();
  readonly #connection: ListeningConnection;
  readonly #news: NewsReader;
  #isLooking = false;
  #closed = false;

  constructor(options: PostgresFeedOptions) {
    this.#options = options;
    const { connections, sql, clock, channel, now } = options;
    this.#newsWanted = new NewsWanted({
      say: (ms) => connections.call(sql.sayListening, [now(), ms]),
      ask: async () => (await connections.call(sql.isListening, [now()]))[0]![0] === true,
    });
    this.#notifier = new Notifier(connections, sql, channel, this.#sender);
    this.#connection = new ListeningConnection({
      connections,
      clock,
      channel,
      onPayload: (payload) => this.#hear(payload),
      onLook: () => void this.#look(),
    });
    this.#news = new NewsReader(connections, sql, (events) => this.#listeners.tell(events));
  }

  watch(listener: (hint: Hint) => void): () => void {
    return this.#watchers.join(listener);
  }

  /** Called after a commit of this process. */
  sendHints(hints: readonly Hint[]): void {
    if (hints.length === 0) return;
    for (const hint of hints) this.#watchers.tell(hint);
    this.#notifier.tell(hints.filter((hint) => this.#isForOthers(hint)).map(topicOf));
  }

  /** Who made a notice delivers it; other processes look for themselves. */
  #isForOthers(hint: Hint): boolean {
    if (hint.topic === "due") return this.#earliestTold.isNews(hint.inMs, performance.now());
    return hint.topic !== "notices";
  }

  newsWanted(): boolean {
    return this.#newsWanted.now();
  }

  async publish(events: readonly Event[]): Promise<void> {
    const { connections, sql, now } = this.#options;
    if (events.length === 0 || !(await this.#newsWanted.known())) return;
    await connections.call(sql.addNews, [now(), JSON.stringify(events)]);
    this.#notifier.tell([NEWS]);
    this.#news.look();
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#listeners.join(listener);
  }

  /** Sends the waiting hints, and receives none any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#watchers.close();
    this.#listeners.close();
    this.#newsWanted.close();
    this.#news.stop();
    this.#notifier.flush();
    await this.#connection.stop();
  }

  #startNews(): void {
    this.#news.start();
    this.#newsWanted.start();
    this.#connection.start();
  }

  #stopNews(): void {
    this.#news.stop();
    this.#newsWanted.stop();
    this.#disconnectIfUnused();
  }

  #disconnectIfUnused(): void {
    if (this.#watchers.size + this.#listeners.size === 0) void this.#connection.stop();
  }

  #hear(payload: string): void {
    const { sender, topics } = readPayload(payload);
    if (sender === this.#sender) return;
    for (const topic of topics) {
      const hint = readTopic(topic);
      if (hint !== null) this.#watchers.tell(hint);
      else if (topic === NEWS) this.#news.look();
    }
  }

  /** Hints may have been missed, so all watchers look. */
  async #look(): Promise<void> {
    const { connections, sql } = this.#options;
    if (this.#closed) return;
    this.#news.look();
    // While the server is away a look takes as long as any call: one at a time is enough.
    if (this.#watchers.size === 0 || this.#isLooking) return;
    this.#isLooking = true;
    this.#watchers.tell({ topic: "due", inMs: 0 });
    for (const topic of ["lease", "queues", "schedules"] as const) this.#watchers.tell({ topic });
    try {
      for (const [queue] of await connections.call(sql.queuesWithWork)) this.#watchers.tell({ topic: "work", queue: queue as string });
    } catch {
      // The next look will find it.
    } finally {
      this.#isLooking = false;
    }
  }
}
