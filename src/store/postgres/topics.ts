import type { Transition } from "../../core/lifecycle.ts";
import type { Hint } from "../store.ts";

/** A hint, or "there are news", as one word of a notification. Names of queues have no spaces. */
export type Topic = string;

export const NEWS: Topic = "news";
const WORK = "work:";
const DUE = "due:";
const PLAIN: ReadonlySet<string> = new Set(["lease", "queues", "schedules"]);

export function topicOf(hint: Hint): Topic {
  if (hint.topic === "work") return WORK + hint.queue;
  return hint.topic === "due" ? DUE + String(hint.inMs) : hint.topic;
}

/** What is to be rung after these were applied: the earliest time at which one of them is due, if any waits for its time. */
export function dueHints(applied: readonly { readonly transition: Transition }[]): Hint[] {
  let inMs = Infinity;
  for (const { transition } of applied) {
    if (transition.to === "retrying" || transition.to === "scheduled") inMs = Math.min(inMs, transition.delayMs ?? 0);
  }
  return inMs === Infinity ? [] : [{ topic: "due", inMs }];
}

/** What a topic is about: two that differ in nothing but the time until a job is due are about the same. */
export const subjectOf = (topic: Topic): string => (topic.startsWith(DUE) ? DUE : topic);

/** Adds a topic to those that are told together, one for each subject: of several times the earliest counts. */
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

/** A notification of the server holds less than 8,000 bytes, and names are ASCII. */
const MOST_CHARACTERS = 7_500;

/** The texts of as few notifications as the topics need. The first word says who sends: a process has heard of its own commits already. */
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
