/**
 * LIVE. News come in by the stream and are gathered; what they touch is looked at again, at this page's own pace, however many there were.
 * News are a hint and looking is the truth: without a stream everything on the page is looked at every few seconds instead.
 *
 * States: `live` (the stream is open), `polling` (it is not), `paused` (somebody wants to read in peace).
 */
import type { QueryClient } from "@tanstack/react-query";
import type { Event, SingleEvent } from "../core/event.ts";
import { client, type Client } from "./api.ts";
import { connection, noteStreamEnd } from "./connection.ts";
import { isPaused } from "./paused.ts";
import { queries } from "./queries.ts";
import { Watched } from "./watched.ts";

/** The first part of a query's key: what it is about. */
export type Topic = "stats" | "queues" | "workers" | "jobs" | "dead" | "job" | "schedules";

/** How often what was touched is looked at. */
const PACE_MS = 1000;
/** How often everything on the page is looked at, with a stream and without. */
const STREAM_LOOK_MS = 5000;
const POLL_MS = 3000;
/** A hidden page stops listening after this. */
const HIDDEN_MS = 30_000;
/** Beyond this a second, single events say nothing to a reader. */
const MAX_GATHERED = 1000;

/** How often the reader asked to see what is now. Lists that stand still move then. */
export const looks = new Watched(0);

/** How many of these looks have all their answers. */
export const answeredLooks = new Watched(0);

type Listener = (events: readonly Event[]) => void;

class Live {
  readonly #client: Pick<Client, "events">;
  readonly #queries: QueryClient;
  readonly #touched = new Set<Topic>();
  readonly #touchedJobs = new Set<string>();
  #isAllTouched = false;
  readonly #listeners = new Set<Listener>();
  #gathered: Event[] = [];
  #lookedAt = 0;
  #isLooking = false;
  #stream: AbortController | null = null;
  #hiding: number | undefined;

  constructor(client: Pick<Client, "events">, queries: QueryClient) {
    this.#client = client;
    this.#queries = queries;
  }

  /** Begins to listen and to look; it ends with the page. */
  start(): void {
    this.#listen();
    window.setInterval(() => void this.#tick(), PACE_MS / 4);
    document.addEventListener("visibilitychange", () => this.#follow());
    isPaused.subscribe(() => this.#follow());
  }

  /** Calls back with what happened, gathered. */
  hear(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks at everything on the page at once, also while it is paused: somebody did something, or came back, and wants to see what is. */
  lookNow(): void {
    void this.#lookForReader();
  }

  async #lookForReader(): Promise<void> {
    looks.set(looks.get() + 1);
    this.#touchAll();
    this.#lookedAt = Date.now();
    await this.#look();
    answeredLooks.set(answeredLooks.get() + 1);
  }

  #follow(): void {
    window.clearTimeout(this.#hiding);
    if (document.hidden) this.#hiding = window.setTimeout(() => this.#disconnect(), HIDDEN_MS);
    else if (isPaused.get()) this.#disconnect();
    else if (this.#stream === null) {
      this.#listen();
      this.lookNow();
    }
  }

  #disconnect(): void {
    this.#stream?.abort();
    this.#stream = null;
    noteStreamEnd();
  }

  #listen(): void {
    const stream = (this.#stream = new AbortController());
    void this.#read(stream.signal);
  }

  async #read(signal: AbortSignal): Promise<void> {
    for await (const event of this.#client.events({ signal })) this.#receive(event);
  }

  #receive(event: Event): void {
    // Some were missed, or there were too many to be told one by one: any of them may be on the page.
    if (event.event === "gap" || event.event === "counts") return this.#touchAll();
    for (const topic of topicsOf(event)) this.#touched.add(topic);
    if ("jobId" in event) this.#touchedJobs.add(event.jobId);
    if (this.#gathered.length < MAX_GATHERED) this.#gathered.push(event);
  }

  #touchAll(): void {
    this.#isAllTouched = true;
  }

  async #tick(): Promise<void> {
    if (this.#isLooking || document.hidden || isPaused.get()) return;
    const since = Date.now() - this.#lookedAt;
    if (since >= (connection.get().isStreaming ? STREAM_LOOK_MS : POLL_MS)) this.#touchAll();
    if (since < PACE_MS || !(this.#isAllTouched || this.#touched.size > 0 || this.#touchedJobs.size > 0)) return;
    this.#isLooking = true;
    this.#lookedAt = Date.now();
    this.#tell();
    await this.#look();
    this.#isLooking = false;
  }

  #tell(): void {
    const events = this.#gathered;
    this.#gathered = [];
    if (events.length > 0) for (const listener of this.#listeners) listener(events);
  }

  /** Only what is on the page is asked for; the rest is old, and is asked for when it is shown. */
  async #look(): Promise<void> {
    const all = this.#isAllTouched;
    const topics = new Set<unknown>(this.#touched);
    const jobs = new Set<unknown>(this.#touchedJobs);
    this.#isAllTouched = false;
    this.#touched.clear();
    this.#touchedJobs.clear();
    await this.#queries.invalidateQueries({
      predicate: ({ queryKey: [topic, id] }) => all || topics.has(topic) || (topic === "job" && jobs.has(id)),
    });
  }
}

/** What this page follows. */
export const live = new Live(client, queries);

/** What an event touches beside its own job. */
function topicsOf(event: SingleEvent): readonly Topic[] {
  switch (event.event) {
    case "job:progress":
      return [];
    case "job:started":
    case "job:completed":
    case "job:failed":
      return ["stats", "queues", "workers", "jobs", "schedules"];
    case "job:created":
    case "job:due":
    case "job:cancelled":
      return ["stats", "queues", "jobs", "schedules"];
    case "job:dead":
    case "job:retried":
      return ["stats", "queues", "workers", "jobs", "dead"];
    case "queue:paused":
    case "queue:resumed":
      return ["queues", "stats"];
    case "schedule:skipped":
      return ["schedules"];
  }
}
