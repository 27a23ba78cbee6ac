import type { DatabaseSync } from "node:sqlite";
import type { Event } from "../../core/event.ts";
import { Listeners } from "../listeners.ts";
import { NewsWanted } from "../news-wanted.ts";
import type { Feed, Hint } from "../store.ts";
import { ADD_NEWS, LAST_NEWS, NEXT_DUE, RAISE_SIGNAL, READ_META, READ_NEWS, READ_SIGNALS, WRITE_META } from "./statements.ts";
import { HAS_NOTICES } from "./step-statements.ts";
import type { View } from "./transaction.ts";
import type { Writer } from "./writer.ts";

/** How often to check for commits of other processes, and how often after a minute without any. */
const POLL_MS = 5;
const QUIET_POLL_MS = 20;
const QUIET_AFTER_MS = 60_000;

const NEWS_PAGE = 1000;
/** No data_version is this one. */
const NONE = -1;
const NEWS_TOPIC = "news";
const DUE_TOPIC: Hint["topic"] = "due";

/** The feeds on each connection. If there are several, it is the application's, and its commits change no data_version there. */
const FEEDS = new WeakMap<DatabaseSync, Set<SqliteFeed>>();

/**
 * How processes that share a file hear of each other. SQLite sends no signals, but `data_version` changes when another connection commits,
 * and asking for it takes 2 µs. Then the signals table says which topics changed, so that a busy process does not wake all others.
 * (Watching the WAL file was measured: no faster, and 12,000 wake-ups a second under load.)
 * This process's own commits send their hints directly.
 */
export class SqliteFeed implements Feed {
  readonly #writer: Writer;
  readonly #view: View;
  readonly #watchers = new Listeners<Hint>({ onFirst: () => this.#startPolling(), onLast: () => this.#stopPollingIfUnused() });
  readonly #listeners = new Listeners<readonly Event[]>({ onFirst: () => this.#startNews(), onLast: () => this.#stopNews() });
  readonly #newsWanted: NewsWanted;
  /** All feeds on its connection, itself included. */
  readonly #together: Set<SqliteFeed>;
  #versions = new Map<string, number>();
  #dataVersion = 0;
  #poll: NodeJS.Timeout | null = null;
  #lastChange = 0;
  #newsRead = 0;
  /** Whether a caller's transaction stored notices that were not seen yet. */
  #expectsNotices = false;

  constructor(writer: Writer) {
    this.#writer = writer;
    const view = (this.#view = writer.view);
    this.#together = (FEEDS.get(view.on.db) ?? new Set()).add(this);
    FEEDS.set(view.on.db, this.#together);
    this.#newsWanted = new NewsWanted({
      say: (ms) => writer.run(false, (tx) => tx.on.run(WRITE_META, "listening_until", tx.now + ms)),
      ask: async () => (view.on.number(READ_META, "listening_until") ?? 0) > view.now,
    });
  }

  watch(listener: (hint: Hint) => void): () => void {
    return this.#watchers.join(listener);
  }

  /** Tells of a commit of this process, or of one that is about to be. */
  tell(hints: readonly Hint[]): void {
    for (const hint of hints) this.#watchers.tell(hint);
  }

  /** Called after a commit of this store: others on its connection look at the signals. */
  committed(): void {
    for (const feed of this.#together) if (feed !== this) feed.#dataVersion = NONE;
  }

  /** Called during a transaction on the application's own connection: all who use it look at the signals once it has ended. */
  lookAtAll(): void {
    for (const feed of this.#together) feed.#dataVersion = NONE;
  }

  /** Called during a caller's transaction that stores notices: this process hears of them once they are committed. */
  expectNotices(): void {
    this.#expectsNotices = true;
  }

  newsWanted(): boolean {
    return this.#newsWanted.now();
  }

  async publish(events: readonly Event[]): Promise<void> {
    if (events.length === 0 || !(await this.#newsWanted.known())) return;
    await this.#writer.run(false, (tx) => {
      tx.on.run(ADD_NEWS, tx.now, JSON.stringify(events));
      tx.on.run(RAISE_SIGNAL, NEWS_TOPIC);
    });
    this.#readNews();
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#listeners.join(listener);
  }

  close(): void {
    this.#together.delete(this);
    this.#watchers.close();
    this.#listeners.close();
    this.#newsWanted.close();
    this.#stopPollingIfUnused();
  }

  #startNews(): void {
    this.#newsRead = this.#view.on.number(LAST_NEWS)!;
    this.#newsWanted.start();
    this.#startPolling();
  }

  #stopNews(): void {
    this.#newsWanted.stop();
    this.#stopPollingIfUnused();
  }

  #startPolling(): void {
    if (this.#poll !== null) return;
    quietly(() => {
      this.#dataVersion = this.#view.on.number("pragma data_version")!;
      this.#versions = this.#readSignals();
    });
    this.#lastChange = performance.now();
    this.#pollLater();
  }

  #stopPollingIfUnused(): void {
    if (this.#watchers.size > 0 || this.#listeners.size > 0 || this.#poll === null) return;
    clearTimeout(this.#poll);
    this.#poll = null;
  }

  /** Uses real time, not the injected clock: other processes write in real time. */
  #pollLater(): void {
    const quiet = performance.now() - this.#lastChange > QUIET_AFTER_MS;
    this.#poll = setTimeout(() => this.#look(), quiet ? QUIET_POLL_MS : POLL_MS);
    this.#poll.unref();
  }

  #look(): void {
    quietly(() => {
      // The application's own connection: what its open transaction shows may be rolled back.
      if (this.#view.on.db.isTransaction) return;
      const version = this.#view.on.number("pragma data_version")!;
      if (version === this.#dataVersion) return;
      this.#dataVersion = version;
      this.#lastChange = performance.now();
      this.#tellWhatChanged();
      if (this.#expectsNotices) this.#tellNotices();
    });
    if (this.#poll !== null) this.#pollLater();
  }

  #tellWhatChanged(): void {
    const versions = this.#readSignals();
    const before = this.#versions;
    this.#versions = versions;
    for (const [topic, version] of versions) {
      if (before.get(topic) === version) continue;
      if (topic === NEWS_TOPIC) this.#readNews();
      else if (topic === DUE_TOPIC) this.#tellDue();
      else this.#watchers.tell(readTopic(topic));
    }
  }

  /** The signal does not say when the job is due; the earliest one is one step down an index. */
  #tellDue(): void {
    const runAt = this.#view.on.number(NEXT_DUE);
    if (runAt !== null) this.#watchers.tell({ topic: "due", inMs: Math.max(0, runAt - this.#view.now) });
  }

  /** Expects them until there are some: another commit may be seen first. After a rollback, those of somebody else are told. */
  #tellNotices(): void {
    if (this.#view.on.number(HAS_NOTICES) === null) return;
    this.#expectsNotices = false;
    this.#watchers.tell({ topic: "notices" });
  }

  #readSignals(): Map<string, number> {
    return new Map(this.#view.on.all(READ_SIGNALS) as [string, number][]);
  }

  #readNews(): void {
    if (this.#listeners.size === 0) return;
    quietly(() => {
      for (;;) {
        const rows = this.#view.on.all(READ_NEWS, this.#newsRead, NEWS_PAGE) as [number, string][];
        for (const [seq, text] of rows) {
          const missed = seq - this.#newsRead - 1;
          this.#newsRead = seq;
          // Numbers have no holes: a missing one was swept before it could be read.
          if (missed > 0) this.#listeners.tell([{ event: "gap", at: this.#view.now, missed }]);
          this.#listeners.tell(JSON.parse(text) as Event[]);
        }
        if (rows.length < NEWS_PAGE) return;
      }
    });
  }
}

function readTopic(topic: string): Hint {
  if (topic.startsWith("work:")) return { topic: "work", queue: topic.slice("work:".length) };
  return { topic: topic as Exclude<Hint["topic"], "work" | "due"> };
}

/** A lost hint only costs a delay, so an error here (a busy file) must not cost more. */
function quietly(look: () => void): void {
  try {
    look();
  } catch {
    // The next look will find it.
  }
}
