import { randomBytes } from "node:crypto";
import type { Event } from "../../core/event.ts";
import { EarliestTold } from "../../lib/earliest-told.ts";
import { Listeners } from "../listeners.ts";
import { NewsWanted } from "../news-wanted.ts";
import type { Feed, Hint } from "../store.ts";
import { listOf, numberOf, type Reply, textOf } from "./codec.ts";
import type { MessageListener, Subscription } from "./driver.ts";
import type { Keys } from "./keys.ts";
import type { Session } from "./session.ts";

/** A hint is sent to others at once, its repeats only after this pause; after a hint that nobody received, after the longer one. */
const HINT_PAUSE_MS = 5;
const UNHEARD_PAUSE_MS = 100;

const LONGEST_NEWS = 200;

const DUE = "due ";
type PlainTopic = Exclude<Hint["topic"], "work" | "due">;

/**
 * How processes hear of each other: two channels, one for hints and one for news, on their own connection. This process's own hints are
 * sent here directly, and its own messages are ignored. A lost message costs a delay, never a job.
 */
export class RedisFeed implements Feed, MessageListener {
  readonly #session: Session;
  readonly #keys: Keys;
  readonly #isCluster: boolean;
  readonly #subscription: Subscription;
  /** Begins each message, to recognise our own. */
  readonly #sender = randomBytes(6).toString("base64url");
  /** A channel is subscribed to while it has listeners. */
  readonly #watchers = new Listeners<Hint>({
    onFirst: () => this.#subscription.add(this.#keys.hints),
    onLast: () => this.#subscription.remove(this.#keys.hints),
  });
  readonly #listeners = new Listeners<readonly Event[]>({
    onFirst: () => {
      this.#subscription.add(this.#keys.news);
      this.#newsWanted.start();
    },
    onLast: () => {
      this.#subscription.remove(this.#keys.news);
      this.#newsWanted.stop();
    },
  });
  readonly #newsWanted: NewsWanted;
  /** The subjects of hints that were sent lately, and what to send about each next. */
  readonly #told = new Map<string, string | null>();
  readonly #earliestTold = new EarliestTold();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Queues that hints have named, for hints about all of them when some may have been missed. */
  readonly #queues = new Set<string>();
  #isClosed = false;

  constructor(session: Session, keys: Keys, isCluster: boolean) {
    this.#session = session;
    this.#keys = keys;
    this.#isCluster = isCluster;
    this.#subscription = session.driver.subscribe(this);
    this.#newsWanted = new NewsWanted({
      say: (ms) => session.driver.command("SET", [keys.listening, "1", "PX", String(ms)]),
      ask: async () => (await session.driver.command("EXISTS", [keys.listening])) === 1,
    });
  }

  /** Resolves when hints of others can arrive: a watcher that joins later misses none. */
  ready(): Promise<void> {
    return this.#subscription.tried;
  }

  // ── Hints ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  watch(listener: (hint: Hint) => void): () => void {
    return this.#watchers.join(listener);
  }

  /** Sends the hints of a script: { time until something is due (-1: nothing new is), 1 if a lease ended, queues that got work … } */
  sendHints(hints: Reply | undefined): void {
    const [due, lease, ...queues] = listOf(hints);
    for (const queue of queues) this.sendHint({ topic: "work", queue: textOf(queue) });
    const inMs = due === undefined ? -1 : numberOf(due);
    if (inMs >= 0) this.sendHint({ topic: "due", inMs });
    if (numberOf(lease) === 1) this.sendHint({ topic: "lease" });
  }

  /** Only this process hears of notices that it left. */
  tellOfNotices(left: number): void {
    if (left > 0) this.tellHere({ topic: "notices" });
  }

  sendHint(hint: Hint): void {
    this.tellHere(hint);
    this.tellOthers(hint);
  }

  tellHere(hint: Hint): void {
    this.#watchers.tell(hint);
  }

  tellOthers(hint: Hint): void {
    if (hint.topic === "due" && !this.#earliestTold.isNews(hint.inMs, performance.now())) return;
    // Of hints about one subject the last replaces the others: a due time is sent only if it is earlier than the one before.
    this.#send(hint.topic === "work" ? `work ${hint.queue}` : hint.topic, textOfHint(hint));
  }

  /** Sends the first at once, and what follows soon after as one: a busy process publishes no more often than others can use. */
  #send(subject: string, text: string): void {
    if (this.#told.has(subject)) {
      this.#told.set(subject, text);
      return;
    }
    if (this.#isClosed) return;
    this.#told.set(subject, null);
    this.#session.driver.command("PUBLISH", [this.#keys.hints, `${this.#sender} ${text}`]).then(
      (heard) => this.#rest(subject, this.#isHeard(numberOf(heard)) ? HINT_PAUSE_MS : UNHEARD_PAUSE_MS),
      () => this.#rest(subject, UNHEARD_PAUSE_MS),
    );
  }

  /** Only a single server knows how many listen. */
  #isHeard(heard: number): boolean {
    return this.#isCluster || heard > (this.#watchers.size > 0 ? 1 : 0);
  }

  #rest(subject: string, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const text = this.#told.get(subject) ?? null;
      this.#told.delete(subject);
      if (text !== null) this.#send(subject, text);
    }, ms);
    timer.unref();
    this.#timers.add(timer);
  }

  // ── News ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#listeners.join(listener);
  }

  newsWanted(): boolean {
    return this.#newsWanted.now();
  }

  async publish(events: readonly Event[]): Promise<void> {
    if (events.length === 0 || !(await this.#newsWanted.known())) return;
    this.#listeners.tell([...events]);
    for (let from = 0; from < events.length; from += LONGEST_NEWS) {
      const message = `${this.#sender} ${JSON.stringify(events.slice(from, from + LONGEST_NEWS))}`;
      await this.#session.command("PUBLISH", this.#keys.news, message);
    }
  }

  // ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  onMessage(channel: string, message: Buffer): void {
    const text = message.toString();
    const space = text.indexOf(" ");
    if (text.slice(0, space) === this.#sender) return;
    const said = text.slice(space + 1);
    if (channel === this.#keys.news) this.#listeners.tell(JSON.parse(said) as Event[]);
    else if (channel === this.#keys.hints) this.#receive(said);
  }

  #receive(said: string): void {
    if (said.startsWith(DUE)) return this.#watchers.tell({ topic: "due", inMs: Number(said.slice(DUE.length)) });
    if (!said.startsWith("work ")) return this.#watchers.tell({ topic: said as PlainTopic });
    const queue = said.slice("work ".length);
    this.#queues.add(queue);
    this.#watchers.tell({ topic: "work", queue });
  }

  /** Messages may have been missed, so everybody looks. */
  onGap(): void {
    this.#watchers.tell({ topic: "due", inMs: 0 });
    for (const topic of ["lease", "queues", "schedules"] as const) this.#watchers.tell({ topic });
    for (const queue of this.#queues) this.#watchers.tell({ topic: "work", queue });
    if (this.#listeners.size === 0) return;
    void this.#session.now().then(
      (at) => this.#listeners.tell([{ event: "gap", at, missed: 0 }]),
      () => {},
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#watchers.close();
    this.#listeners.close();
    this.#newsWanted.close();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#subscription.close();
  }
}

function textOfHint(hint: Hint): string {
  if (hint.topic === "work") return `work ${hint.queue}`;
  return hint.topic === "due" ? DUE + String(hint.inMs) : hint.topic;
}
