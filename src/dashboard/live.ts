/**
 * LIVE UPDATES. Events come in by the stream and are collected; what they touch is fetched again, at the page's own pace, however many there
 * were. Events are only hints: everything on the page is fetched every few seconds in any case, each query by its own age. So neither a job that
 * reports progress every second nor a slow answer keeps the rest of the page from being current.
 *
 * States: `live` (the stream is open), `polling` (it is not), `paused` (by the user).
 */
import type { Query, QueryClient } from "@tanstack/react-query";
import type { Event, SingleEvent } from "../core/event.ts";
import { client, type Client } from "./api.ts";
import { connection, noteStreamEnd } from "./connection.ts";
import { pageSearch } from "./page-search.ts";
import { isPaused } from "./paused.ts";
import { queries } from "./queries.ts";
import { Watched } from "./watched.ts";

/** The first part of a query's key: what it is about. */
export type Topic = "attention" | "stats" | "queues" | "workers" | "jobs" | "dead" | "job" | "schedules" | "flows";

/** How often a query is fetched at most. */
const PACE_MS = 1000;
/** How often a query is fetched at least, with a stream and without. */
const STREAM_POLL_MS = 5000;
const POLL_MS = 3000;
/** A hidden page stops listening after this. */
const HIDDEN_MS = 30_000;
/** Nobody reads more single events per second. */
const MAX_COLLECTED = 1000;

/** How often the user asked for the current data. Lists that do not move show it then. */
export const refreshes = new Watched(0);

/** How many of these refreshes have all their answers. */
export const answeredRefreshes = new Watched(0);

type Listener = (events: readonly Event[]) => void;

class Live {
  readonly #client: Pick<Client, "events">;
  readonly #queries: QueryClient;
  readonly #touched = new Set<Topic>();
  readonly #touchedJobs = new Set<string>();
  #isAllTouched = false;
  readonly #listeners = new Set<Listener>();
  #collected: Event[] = [];
  #notifiedAt = 0;
  /** Queries whose data may have changed since they were fetched. */
  readonly #outdated = new WeakSet<Query>();
  readonly #fetchedAt = new WeakMap<Query, number>();
  #stream: AbortController | null = null;
  #hiding: number | undefined;

  constructor(client: Pick<Client, "events">, queries: QueryClient) {
    this.#client = client;
    this.#queries = queries;
  }

  /** Starts to listen and to fetch; it ends with the page. */
  start(): void {
    this.#listen();
    window.setInterval(() => this.#tick(), PACE_MS / 4);
    document.addEventListener("visibilitychange", () => this.#follow());
    isPaused.subscribe(() => this.#follow());
  }

  /** Calls the listener with the collected events. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Fetches everything on the page now, even while it is paused: the user did something, or came back. */
  async refresh(): Promise<void> {
    refreshes.set(refreshes.get() + 1);
    // A search that is over keeps what it found beyond its first call. Somebody may have changed or deleted that: it is looked for again.
    if (pageSearch.get()?.isOver === true) pageSearch.set(null);
    await this.#queries.invalidateQueries();
    answeredRefreshes.set(answeredRefreshes.get() + 1);
  }

  #follow(): void {
    window.clearTimeout(this.#hiding);
    if (document.hidden) this.#hiding = window.setTimeout(() => this.#disconnect(), HIDDEN_MS);
    else if (isPaused.get()) this.#disconnect();
    else if (this.#stream === null) {
      this.#listen();
      void this.refresh();
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
    // Events were missed, or merged because there were too many: any job on the page may have changed.
    if (event.event === "gap" || event.event === "counts") return this.#touchAll();
    for (const topic of topicsOf(event)) this.#touched.add(topic);
    if ("jobId" in event) this.#touchedJobs.add(event.jobId);
    if (this.#collected.length < MAX_COLLECTED) this.#collected.push(event);
  }

  #touchAll(): void {
    this.#isAllTouched = true;
  }

  #tick(): void {
    if (document.hidden || isPaused.get()) return;
    const now = Date.now();
    this.#notify(now);
    this.#markOutdated();
    const usualMs = connection.get().isStreaming ? STREAM_POLL_MS : POLL_MS;
    for (const query of this.#queries.getQueryCache().findAll({ type: "active", fetchStatus: "idle" })) {
      if (query.isDisabled()) continue;
      // A query whose answer is costly and hardly changes says so.
      const pollMs = Math.max(usualMs, (query.meta?.["everyMs"] as number | undefined) ?? 0);
      const age = now - Math.max(this.#fetchedAt.get(query) ?? 0, query.state.dataUpdatedAt);
      if (age >= pollMs || (age >= PACE_MS && this.#outdated.has(query))) this.#fetch(query, now);
    }
  }

  #notify(now: number): void {
    if (now - this.#notifiedAt < PACE_MS || this.#collected.length === 0) return;
    this.#notifiedAt = now;
    const events = this.#collected;
    this.#collected = [];
    for (const listener of this.#listeners) listener(events);
  }

  /** What is not on the page is marked too, and fetched when it is shown. */
  #markOutdated(): void {
    const isTouched = ({ queryKey: [topic, id] }: Query): boolean =>
      this.#isAllTouched || this.#touched.has(topic as Topic) || (topic === "job" && this.#touchedJobs.has(id as string));
    for (const query of this.#queries.getQueryCache().findAll({ predicate: isTouched })) {
      this.#outdated.add(query);
      if (!query.isActive()) query.invalidate();
    }
    this.#isAllTouched = false;
    this.#touched.clear();
    this.#touchedJobs.clear();
  }

  #fetch(query: Query, now: number): void {
    this.#outdated.delete(query);
    this.#fetchedAt.set(query, now);
    // A failure is in the state of the query, where the page shows it.
    void this.#queries.refetchQueries({ queryKey: query.queryKey, exact: true });
  }
}

export const live = new Live(client, queries);

/** What an event touches besides its own job. */
function topicsOf(event: SingleEvent): readonly Topic[] {
  switch (event.event) {
    case "job:progress":
      return [];
    case "job:started":
    case "job:completed":
    case "job:failed":
    case "job:suspended":
      return ["attention", "stats", "queues", "workers", "jobs", "schedules", "flows"];
    case "job:created":
    case "job:due":
    case "job:resumed":
    case "job:cancelled":
      return ["attention", "stats", "queues", "jobs", "schedules", "flows"];
    case "job:dead":
    case "job:retried":
      return ["attention", "stats", "queues", "workers", "jobs", "dead", "flows"];
    case "flow:completed":
    case "flow:failed":
    case "flow:cancelled":
      return ["attention", "queues", "jobs", "flows"];
    case "queue:paused":
    case "queue:resumed":
      return ["attention", "queues", "stats"];
    case "schedule:skipped":
      return ["schedules"];
  }
}
