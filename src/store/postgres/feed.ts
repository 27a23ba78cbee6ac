import { randomUUID } from "node:crypto";
import type { Event } from "../../core/event.ts";
import type { Clock } from "../../lib/clock.ts";
import { EarliestTold } from "../../lib/earliest-told.ts";
import type { Feed, Hint } from "../store.ts";
import type { Connections } from "./connections.ts";
import { Line } from "./line.ts";
import { NewsReader } from "./news.ts";
import { Notifier } from "./notifier.ts";
import type { Statements } from "./statements.ts";
import { NEWS, readPayload, readTopic, topicOf } from "./topics.ts";

/** A listener says every so often that it is there; publishers believe it for a while, and ask at most twice a second. */
const LISTENING_RENEWED_MS = 5_000;
const LISTENING_BELIEVED_MS = 15_000;
const WANTED_CHECK_MS = 500;
/** After so long without a look nobody knows: what is published then waits for the answer, so that the first word of an idle process is heard. */
const WANTED_KNOWN_MS = 2_000;

export interface PostgresFeedOptions {
  readonly connections: Connections;
  readonly sql: Statements;
  readonly clock: Clock;
  readonly channel: string;
  readonly now: () => number | null;
}

/**
 * How processes hear of each other: by NOTIFY, which is only a hint. What this process commits itself rings here directly; the line that
 * listens is there only while somebody wants to hear.
 */
export class PostgresFeed implements Feed {
  readonly #options: PostgresFeedOptions;
  readonly #sender = randomUUID().slice(0, 8);
  readonly #watchers = new Set<(hint: Hint) => void>();
  readonly #listeners = new Set<(events: readonly Event[]) => void>();
  readonly #notifier: Notifier;
  readonly #earliestTold = new EarliestTold();
  readonly #line: Line;
  readonly #news: NewsReader;
  #renew: NodeJS.Timeout | null = null;
  #wanted = false;
  #wantedCheckedAt = Number.NEGATIVE_INFINITY;
  /** A look whose answer is not here yet, while what was known before is too old. */
  #doubt: Promise<void> | null = null;
  #isLooking = false;
  #isChecking = false;
  #isSaying = false;
  #closed = false;

  constructor(options: PostgresFeedOptions) {
    this.#options = options;
    const { connections, sql, clock, channel } = options;
    this.#notifier = new Notifier(connections, sql, channel, this.#sender);
    this.#line = new Line({ connections, clock, channel, onPayload: (payload) => this.#hear(payload), onLook: () => void this.#look() });
    this.#news = new NewsReader(connections, sql, (events) => {
      for (const listener of this.#listeners) quietly(() => listener(events));
    });
  }

  watch(listener: (hint: Hint) => void): () => void {
    this.#watchers.add(listener);
    this.#listenIfWanted();
    return () => {
      this.#watchers.delete(listener);
      this.#listenIfWanted();
    };
  }

  /** Called after a commit of this process. */
  ring(hints: readonly Hint[]): void {
    if (hints.length === 0) return;
    for (const hint of hints) this.#tell(hint);
    const news = hints.filter((hint) => hint.topic !== "due" || this.#earliestTold.isNews(hint.inMs, performance.now()));
    this.#notifier.tell(news.map(topicOf));
  }

  newsWanted(): boolean {
    const monotonic = performance.now();
    const age = monotonic - this.#wantedCheckedAt;
    if (age >= WANTED_CHECK_MS && !this.#isChecking && !this.#closed) {
      this.#wantedCheckedAt = monotonic;
      const checking = this.#checkWanted().finally(() => (this.#doubt = null));
      if (age >= WANTED_KNOWN_MS) this.#doubt = checking;
    }
    return this.#wanted || this.#doubt !== null;
  }

  async publish(events: readonly Event[]): Promise<void> {
    const { connections, sql, now } = this.#options;
    if (events.length === 0 || !this.newsWanted()) return;
    await this.#doubt;
    if (!this.newsWanted()) return;
    await connections.call(sql.addNews, [now(), JSON.stringify(events)]);
    this.#notifier.tell([NEWS]);
    this.#news.look();
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    if (this.#listeners.size === 0) {
      this.#news.start();
      void this.#sayListening();
      this.#renew = setInterval(() => void this.#sayListening(), LISTENING_RENEWED_MS).unref();
    }
    this.#listeners.add(listener);
    this.#listenIfWanted();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stopNews();
      this.#listenIfWanted();
    };
  }

  /** Hints that are on their way are sent; nothing is heard any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#watchers.clear();
    this.#listeners.clear();
    this.#stopNews();
    this.#notifier.flush();
    await this.#line.stop();
  }

  #stopNews(): void {
    if (this.#renew !== null) clearInterval(this.#renew);
    this.#renew = null;
    this.#news.stop();
  }

  #listenIfWanted(): void {
    const wanted = !this.#closed && this.#watchers.size + this.#listeners.size > 0;
    if (wanted) this.#line.start();
    else void this.#line.stop();
  }

  #tell(hint: Hint): void {
    for (const watcher of this.#watchers) quietly(() => watcher(hint));
  }

  #hear(payload: string): void {
    const { sender, topics } = readPayload(payload);
    if (sender === this.#sender) return;
    for (const topic of topics) {
      const hint = readTopic(topic);
      if (hint !== null) this.#tell(hint);
      else if (topic === NEWS) this.#news.look();
    }
  }

  /** Hints may have been missed: everyone looks. */
  async #look(): Promise<void> {
    const { connections, sql } = this.#options;
    if (this.#closed) return;
    this.#news.look();
    // While the server is away a look takes as long as any call: one that waits is enough.
    if (this.#watchers.size === 0 || this.#isLooking) return;
    this.#isLooking = true;
    this.#tell({ topic: "due", inMs: 0 });
    for (const topic of ["lease", "queues", "schedules"] as const) this.#tell({ topic });
    try {
      for (const [queue] of await connections.call(sql.queuesWithWork)) this.#tell({ topic: "work", queue: queue as string });
    } catch {
      // The next look will tell.
    } finally {
      this.#isLooking = false;
    }
  }

  async #checkWanted(): Promise<void> {
    const { connections, sql, now } = this.#options;
    this.#isChecking = true;
    try {
      const [row] = await connections.call(sql.isListening, [now()]);
      this.#wanted = this.#listeners.size > 0 || row![0] === true;
    } catch {
      // What was known is believed on.
    } finally {
      this.#isChecking = false;
    }
  }

  async #sayListening(): Promise<void> {
    const { connections, sql, now } = this.#options;
    this.#wanted = true;
    if (this.#isSaying) return;
    this.#isSaying = true;
    try {
      await connections.call(sql.sayListening, [now(), LISTENING_BELIEVED_MS]);
    } catch {
      // Said again before long.
    } finally {
      this.#isSaying = false;
    }
  }
}

/** A listener that throws must not cost the others their hint. */
function quietly(call: () => void): void {
  try {
    call();
  } catch {
    // It is the listener's own.
  }
}
