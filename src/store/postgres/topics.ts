import type { Hint } from "../store.ts";

/** A hint, or "there are news", as one word of a notification. Names of queues have no spaces. */
export type Topic = string;

export const NEWS: Topic = "news";
const WORK = "work:";
const PLAIN: ReadonlySet<string> = new Set(["due", "lease", "queues", "schedules"]);

export const topicOf = (hint: Hint): Topic => (hint.topic === "work" ? WORK + hint.queue : hint.topic);

export function readTopic(topic: Topic): Hint | null {
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
