/**
 * THE METRICS OF A PROCESS, for Prometheus or as JSON. Two kinds: figures of the store, which are the same from every process (take the
 * maximum), and those of this process (add them up).
 */
import type { Trouble } from "../core/trouble.ts";
import { atMost, type Clock, systemClock } from "../lib/clock.ts";
import { ReadAgain } from "../lib/read-again.ts";
import { type Family, gauge, plain, TEXT_TYPE, toJson, toText } from "./exposition.ts";
import { JobFigures } from "./job-figures.ts";
import type { LeaseWatcher } from "./lease-watch.ts";
import { ProcessFigures } from "./process-figures.ts";
import { QueueLabels } from "./queue-labels.ts";
import { RequestFigures, type SeenRequest } from "./request-figures.ts";
import { type FiguresSource, readStore, storeFamilies, type StoreReading } from "./store-figures.ts";

export interface MetricsOptions {
  /** Reads the store: a client. */
  readonly source: FiguresSource;
  readonly version?: string | undefined;
  /** Whether this process is a server, which counts requests. Default true. */
  readonly answersRequests?: boolean | undefined;
  /** Whether this process can work. */
  readonly isReady?: (() => boolean | Promise<boolean>) | undefined;
  /** How many queues have their name as a label. Default 100. */
  readonly maxQueues?: number | undefined;
  readonly clock?: Clock | undefined;
}

const MAX_QUEUES = 100;
/** Within this time, further requests get the same reading. */
const FRESH_MS = 1000;
/** An unreachable store must not take the figures of this process with it: Prometheus waits for 10 s. */
const PATIENCE_MS = 5000;

export class Metrics {
  readonly #options: MetricsOptions;
  readonly #clock: Clock;
  readonly #labels: QueueLabels;
  readonly #jobs: JobFigures;
  readonly #requests = new RequestFigures();
  readonly #process: ProcessFigures;
  /** Null if the store could not be read: that is a figure, too. */
  readonly #reading: ReadAgain<StoreReading | null>;

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#labels = new QueueLabels(options.maxQueues ?? MAX_QUEUES);
    this.#jobs = new JobFigures(this.#labels);
    this.#process = new ProcessFigures(options.version ?? "unknown");
    this.#reading = new ReadAgain(this.#clock, null, () => readStore(options.source).catch(() => null));
  }

  /** Watches leases for work through this process. */
  get leases(): LeaseWatcher {
    return this.#jobs;
  }

  readonly onTrouble = (trouble: Trouble): void => this.#jobs.trouble(trouble);

  /** Counts a call to the store that met a lock of another process. */
  readonly onContended = (reason: "lock"): void => this.#jobs.contended(reason);

  readonly onRequest = (request: SeenRequest): void => this.#requests.request(request);

  readonly textType = TEXT_TYPE;

  /** Text for Prometheus. */
  async text(): Promise<string> {
    return toText(await this.#families());
  }

  /** The same as a value for JSON. */
  async json(): Promise<ReturnType<typeof toJson>> {
    return toJson(await this.#families());
  }

  stop(): void {
    this.#process.stop();
  }

  async #families(): Promise<Family[]> {
    const [reading, isReady] = await Promise.all([this.#store(), this.#isReady()]);
    return [
      ...(isReady === null ? [] : [readyFamily(isReady)]),
      ...storeFamilies(reading, this.#labels),
      ...this.#jobs.families(),
      ...(this.#options.answersRequests === false ? [] : this.#requests.families()),
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

  /** One read at a time, shared by concurrent callers: they must not pile up before a slow store. */
  async #store(): Promise<StoreReading | null> {
    if (this.#reading.ageMs < FRESH_MS) return this.#reading.value;
    return atMost(this.#clock, PATIENCE_MS, this.#reading.read());
  }
}

function readyFamily(isReady: boolean): Family {
  const help = "Whether this process can work: it is not shutting down, its workers are healthy, and a claim succeeded recently.";
  return gauge("millrace_ready", help, [plain(Number(isReady))]);
}
