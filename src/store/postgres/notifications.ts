import type { Transition } from "../../core/lifecycle.ts";
import type { Hint } from "../store.ts";
import type { Connections } from "./connections.ts";
import type { Statements } from "./statements.ts";

/** A hint, or "there are news", as one word of a notification. Queue names have no spaces. */
export type Topic = string;

export const NEWS: Topic = "news";
export const WORK = "work:";
export const DUE = "due:";
const PLAIN: ReadonlySet<string> = new Set(["lease", "queues", "schedules", "notices"]);

export function topicOf(hint: Hint): Topic {
  if (hint.topic === "work") return WORK + hint.queue;
  return hint.topic === "due" ? DUE + String(hint.inMs) : hint.topic;
}

/** The hint for these transitions: the earliest time at which one of the jobs is due, if any waits for its time. `first`: one that is known. */
export function dueHints(applied: readonly { readonly transition: Transition }[], first = Infinity): Hint[] {
  let inMs = first;
  for (const { transition } of applied) {
    const { to, delayMs } = transition;
    if (to === "retrying" || to === "scheduled" || (to === "blocked" && delayMs !== null)) inMs = Math.min(inMs, delayMs ?? 0);
  }
  return inMs === Infinity ? [] : [{ topic: "due", inMs }];
}

/** The subject of a topic: topics that differ only in the due time have the same. */
const subjectOf = (topic: Topic): string => (topic.startsWith(DUE) ? DUE : topic);

/** Adds a topic, one per subject: of several due times the earliest counts. */
export function addTopic(topics: Map<string, Topic>, topic: Topic): void {
  const subject = subjectOf(topic);
  const known = topics.get(subject);
  if (known === undefined || subject !== DUE || dueInMs(topic) < dueInMs(known)) topics.set(subject, topic);
}

const dueInMs = (topic: Topic): number => Number(topic.slice(DUE.length));

export function readTopic(topic: Topic): Hint | null {
  if (topic.startsWith(DUE)) return { topic: "due", inMs: dueInMs(topic) };
  if (topic.startsWith(WORK)) return { topic: "work", queue: topic.slice(WORK.length) };
  return PLAIN.has(topic) ? ({ topic } as Hint) : null;
}

/** A notification holds less than 8,000 bytes, and names are ASCII. */
const MOST_CHARACTERS = 7_500;

/** As few notifications as the topics need. The first word is the sender, because a process ignores its own. */
export function payloadsOf(sender: string, topics: Iterable<Topic>): string[] {
  const payloads: string[] = [];
  let text = sender;
  for (const topic of topics) {
    if (text.length + topic.length + 1 > MOST_CHARACTERS) {
      payloads.push(text);
      text = sender;
    }
    text += ` ${topic}`;
  }
  payloads.push(text);
  return payloads;
}

export function readPayload(payload: string): { sender: string; topics: Topic[] } {
  const [sender = "", ...topics] = payload.split(" ");
  return { sender, topics };
}

/** At most one notification per topic in this time: NOTIFY takes a lock that all notifying commits of the server share. */
const PAUSE_MS = 10;

/**
 * Tells other processes what changed, in a small statement after the commit. The first topic is sent at once; those of the next
 * milliseconds are sent together. So even a busy process sends only some hundred notifications a second.
 */
export class Notifier {
  readonly #connections: Connections;
  readonly #sql: Statements;
  readonly #channel: string;
  readonly #sender: string;
  /** Per subject: when it was last sent, and what waits to be sent. */
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
      // A lost hint only costs a delay.
      this.#connections.call(this.#sql.notify, [this.#channel, payload]).catch(() => {});
    }
  }
}
