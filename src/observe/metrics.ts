/**
 * THE FIGURES OF A PROCESS, for Prometheus or as JSON. Two kinds: what the store knows, which is the same from every process (take the
 * largest), and what went through this process (add up).
 */
import type { Trouble } from "../core/trouble.ts";
import { type Clock, sleep, systemClock } from "../lib/clock.ts";
import { type Family, TEXT_TYPE, toJson, toText } from "./exposition.ts";
import { JobFigures } from "./job-figures.ts";
import type { LeaseWatcher } from "./lease-watch.ts";
import { ProcessFigures } from "./process-figures.ts";
import { QueueLabels } from "./queue-labels.ts";
import { RequestFigures, type SeenRequest } from "./request-figures.ts";
import { type FiguresSource, readStore, storeFamilies, type StoreReading } from "./store-figures.ts";

/** What metrics can be told. */
export interface MetricsOptions {
  /** Knows the store: a client. */
  readonly source: FiguresSource;
  readonly version?: string | undefined;
  /** Whether this process can work. */
  readonly isReady?: (() => boolean | Promise<boolean>) | undefined;
  /** How many queues are told by name. Default 100. */
  readonly maxQueues?: number | undefined;
  readonly clock?: Clock | undefined;
}

const MAX_QUEUES = 100;
/** Who asks more often than this is answered from the last look. */
const FRESH_MS = 1000;
/** A store that is away must not take the figures of this process with it: Prometheus itself waits for 10 s. */
const PATIENCE_MS = 5000;

export class Metrics {
  readonly #options: MetricsOptions;
  readonly #clock: Clock;
  readonly #labels: QueueLabels;
  readonly #jobs: JobFigures;
  readonly #requests = new RequestFigures();
  readonly #process: ProcessFigures;
  #read: { readonly at: number; readonly reading: StoreReading | null } | null = null;
  #reading: Promise<StoreReading | null> | null = null;

  /** Measures from now on. */
  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#labels = new QueueLabels(options.maxQueues ?? MAX_QUEUES);
    this.#jobs = new JobFigures(this.#labels);
    this.#process = new ProcessFigures(options.version ?? "unknown");
  }

  /** Watches leases for what is worked through this process. */
  get leases(): LeaseWatcher {
    return this.#jobs;
  }

  /** To be told of each trouble. */
  readonly onTrouble = (trouble: Trouble): void => this.#jobs.trouble(trouble);

  /** To be told each time that a call to the store met what another process held. */
  readonly onContended = (reason: "lock"): void => this.#jobs.contended(reason);

  /** To be told of each request that was answered. */
  readonly onRequest = (request: SeenRequest): void => this.#requests.request(request);

  /** The media type of `text`. */
  readonly textType = TEXT_TYPE;

  /** The text that Prometheus reads. */
  async text(): Promise<string> {
    return toText(await this.#families());
  }

  /** The same as a value for JSON. */
  async json(): Promise<ReturnType<typeof toJson>> {
    return toJson(await this.#families());
  }

  /** Stops measuring. */
  stop(): void {
    this.#process.stop();
  }

  async #families(): Promise<Family[]> {
    const [reading, isReady] = await Promise.all([this.#store(), this.#isReady()]);
    return [
      ...(isReady === null ? [] : [readyFamily(isReady)]),
      ...storeFamilies(reading, this.#labels),
      ...this.#jobs.families(),
      ...this.#requests.families(),
      ...this.#process.families(),
    ];
  }

  async #isReady(): Promise<boolean | null> {
    try {
      return (await this.#options.isReady?.()) ?? null;
    } catch {
      return false;
    }
  }

  /** One look at a time, shared by all who ask meanwhile: they do not pile up before a store that is slow. */
  async #store(): Promise<StoreReading | null> {
    if (this.#read !== null && this.#clock.monotonic() - this.#read.at < FRESH_MS) return this.#read.reading;
    this.#reading ??= this.#look();
    const waited = new AbortController();
    const tooLong = sleep(this.#clock, PATIENCE_MS, waited.signal).then(() => null);
    try {
      return await Promise.race([this.#reading, tooLong]);
    } finally {
      waited.abort();
    }
  }

  async #look(): Promise<StoreReading | null> {
    let reading: StoreReading | null = null;
    try {
      reading = await readStore(this.#options.source);
    } catch {
      // The store is away: that is a figure too.
    }
    this.#read = { at: this.#clock.monotonic(), reading };
    this.#reading = null;
    return reading;
  }
}

function readyFamily(isReady: boolean): Family {
  const help = "Whether this process can work: it is not shutting down, its workers are well, and a claim succeeded lately.";
  return { name: "millrace_ready", help, type: "gauge", samples: [{ labels: {}, value: Number(isReady) }] };
}
