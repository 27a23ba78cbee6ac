import { randomBytes } from "node:crypto";
import type { Event } from "../../core/event.ts";
import { EarliestTold } from "../../lib/earliest-told.ts";
import type { Feed, Hint } from "../store.ts";
import { listOf, numberOf, type Reply, textOf } from "./codec.ts";
import type { Hearer, Subscription } from "./driver.ts";
import type { Keys } from "./keys.ts";
import type { Session } from "./session.ts";

/** A hint goes to the others at once, its repeats not before this time has passed; after one that nobody heard, not before the longer one. */
const HINT_PAUSE_MS = 5;
const UNHEARD_PAUSE_MS = 100;

/** A listener says every so often that it is there; publishers believe it for a while, and look at most so often. */
const LISTENING_RENEWED_MS = 5_000;
const LISTENING_BELIEVED_MS = 15_000;
const WANTED_CHECK_MS = 500;
/** After so long without a look nobody knows: what is published then waits for the answer, so that the first word of an idle process is heard. */
const WANTED_KNOWN_MS = 2_000;

const LONGEST_NEWS = 200;

const DUE = "due ";
type PlainTopic = Exclude<Hint["topic"], "work" | "due">;

/**
 * How processes hear of each other: two channels, one for hints and one for news, on a connection of its own. What this process does itself
 * rings here directly, and its own messages are passed over. A message that is lost costs delay, never a job: looking is the truth.
 */
export class RedisFeed implements Feed, Hearer {
  readonly #session: Session;
  readonly #keys: Keys;
  readonly #isCluster: boolean;
  readonly #subscription: Subscription;
  /** Stands before each message, so that one knows one's own. */
  readonly #self = randomBytes(6).toString("base64url");
  readonly #watchers = new Set<(hint: Hint) => void>();
  readonly #listeners = new Set<(events: readonly Event[]) => void>();
  /** What hints that were told to the others lately were about, and what is to be told of it next. */
  readonly #told = new Map<string, string | null>();
  readonly #earliestTold = new EarliestTold();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Queues that hints named, to ring them all when some may have been missed. */
  readonly #queues = new Set<string>();
  #renewal: NodeJS.Timeout | null = null;
  #wanted = false;
  #wantedCheckedAt = Number.NEGATIVE_INFINITY;
  /** A look whose answer is not here yet, while what was known before is too old. */
  #doubt: Promise<void> | null = null;
  #isClosed = false;

  constructor(session: Session, keys: Keys, isCluster: boolean) {
    this.#session = session;
    this.#keys = keys;
    this.#isCluster = isCluster;
    this.#subscription = session.driver.subscribe(this);
  }

  /** Resolves when hints of others would be heard: a watcher that comes later then misses none. */
  ready(): Promise<void> {
    return this.#subscription.tried;
  }

  // ── Hints ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  watch(listener: (hint: Hint) => void): () => void {
    return this.#join(this.#watchers, listener, this.#keys.hints);
  }

  /** Rings what a script tells: { time until something is due (-1: nothing new is), 1 if a lease ended, queues that got work … } */
  ringAll(rings: Reply | undefined): void {
    const [due, lease, ...queues] = listOf(rings);
    for (const queue of queues) this.ring({ topic: "work", queue: textOf(queue) });
    const inMs = due === undefined ? -1 : numberOf(due);
    if (inMs >= 0) this.ring({ topic: "due", inMs });
    if (numberOf(lease) === 1) this.ring({ topic: "lease" });
  }

  ring(hint: Hint): void {
    tell(this.#watchers, hint);
    if (hint.topic === "due" && !this.#earliestTold.isNews(hint.inMs, performance.now())) return;
    // Of hints about one subject the last stands for all: a due time is told only if it is earlier than the one before.
    this.#tellOthers(hint.topic === "work" ? `work ${hint.queue}` : hint.topic, textOfHint(hint));
  }

  /** The first goes at once, what comes soon after waits and goes as one: a busy process publishes no more often than others can use. */
  #tellOthers(subject: string, text: string): void {
    if (this.#told.has(subject)) {
      this.#told.set(subject, text);
      return;
    }
    if (this.#isClosed) return;
    this.#told.set(subject, null);
    this.#session.driver.command("PUBLISH", [this.#keys.hints, `${this.#self} ${text}`]).then(
      (heard) => this.#rest(subject, this.#isHeard(numberOf(heard)) ? HINT_PAUSE_MS : UNHEARD_PAUSE_MS),
      () => this.#rest(subject, UNHEARD_PAUSE_MS),
    );
  }

  /** Only a single server knows who hears. */
  #isHeard(heard: number): boolean {
    return this.#isCluster || heard > (this.#watchers.size > 0 ? 1 : 0);
  }

  #rest(subject: string, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const text = this.#told.get(subject) ?? null;
      this.#told.delete(subject);
      if (text !== null) this.#tellOthers(subject, text);
    }, ms);
    timer.unref();
    this.#timers.add(timer);
  }

  // ── News ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  listen(listener: (events: readonly Event[]) => void): () => void {
    const leave = this.#join(this.#listeners, listener, this.#keys.news);
    if (this.#renewal === null && !this.#isClosed) {
      this.#saySo();
      this.#renewal = setInterval(() => this.#saySo(), LISTENING_RENEWED_MS);
      this.#renewal.unref();
    }
    return () => {
      leave();
      if (this.#listeners.size > 0 || this.#renewal === null) return;
      clearInterval(this.#renewal);
      this.#renewal = null;
    };
  }

  #saySo(): void {
    const ttl = String(LISTENING_BELIEVED_MS);
    this.#session.driver.command("SET", [this.#keys.listening, "1", "PX", ttl]).catch(() => {});
  }

  newsWanted(): boolean {
    if (this.#listeners.size > 0) return true;
    const present = performance.now();
    const age = present - this.#wantedCheckedAt;
    if (age >= WANTED_CHECK_MS && !this.#isClosed) {
      this.#wantedCheckedAt = present;
      const checking = this.#checkWanted().finally(() => (this.#doubt = null));
      if (age >= WANTED_KNOWN_MS) this.#doubt = checking;
    }
    return this.#wanted || this.#doubt !== null;
  }

  async #checkWanted(): Promise<void> {
    try {
      this.#wanted = (await this.#session.driver.command("EXISTS", [this.#keys.listening])) === 1;
    } catch {
      // What was known is believed on.
    }
  }

  async publish(events: readonly Event[]): Promise<void> {
    if (events.length === 0 || !this.newsWanted()) return;
    await this.#doubt;
    if (!this.newsWanted()) return;
    tell(this.#listeners, [...events]);
    for (let from = 0; from < events.length; from += LONGEST_NEWS) {
      const message = `${this.#self} ${JSON.stringify(events.slice(from, from + LONGEST_NEWS))}`;
      await this.#session.command("PUBLISH", this.#keys.news, message);
    }
  }

  // ── Hearing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  onMessage(channel: string, message: Buffer): void {
    const text = message.toString();
    const space = text.indexOf(" ");
    if (text.slice(0, space) === this.#self) return;
    const said = text.slice(space + 1);
    if (channel === this.#keys.news) tell(this.#listeners, JSON.parse(said) as Event[]);
    else if (channel === this.#keys.hints) this.#hear(said);
  }

  #hear(said: string): void {
    if (said.startsWith(DUE)) return tell(this.#watchers, { topic: "due", inMs: Number(said.slice(DUE.length)) });
    if (!said.startsWith("work ")) return tell(this.#watchers, { topic: said as PlainTopic });
    const queue = said.slice("work ".length);
    this.#queues.add(queue);
    tell(this.#watchers, { topic: "work", queue });
  }

  /** What was said meanwhile is not known: everybody looks. */
  onGap(): void {
    tell(this.#watchers, { topic: "due", inMs: 0 });
    for (const topic of ["lease", "queues", "schedules"] as const) tell(this.#watchers, { topic });
    for (const queue of this.#queues) tell(this.#watchers, { topic: "work", queue });
    if (this.#listeners.size === 0) return;
    void this.#session.now().then(
      (at) => tell(this.#listeners, [{ event: "gap", at, missed: 0 }]),
      () => {},
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#watchers.clear();
    this.#listeners.clear();
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#renewal !== null) clearInterval(this.#renewal);
    this.#subscription.close();
  }

  /** Each call joins anew: the same function may be given twice, and each goes by itself. The channel is open while somebody hears it. */
  #join<Message>(hearers: Set<(message: Message) => void>, hearer: (message: Message) => void, channel: string): () => void {
    if (this.#isClosed) return () => {};
    const own = (message: Message): void => hearer(message);
    if (hearers.size === 0) this.#subscription.add(channel);
    hearers.add(own);
    return () => {
      if (hearers.delete(own) && hearers.size === 0 && !this.#isClosed) this.#subscription.remove(channel);
    };
  }
}

function textOfHint(hint: Hint): string {
  if (hint.topic === "work") return `work ${hint.queue}`;
  return hint.topic === "due" ? DUE + String(hint.inMs) : hint.topic;
}

/** A hearer that throws breaks its promise; the others still hear, and the store goes on. */
function tell<Message>(hearers: ReadonlySet<(message: Message) => void>, message: Message): void {
  for (const hearer of hearers) {
    try {
      hearer(message);
    } catch {
      // Nothing here could act on it.
    }
  }
}
