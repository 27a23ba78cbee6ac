import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connect, type ConnectOptions, type Context, MillraceError } from "millrace";
import { onTestFinished } from "vitest";
import { type LedgerLine, MemoryLedger } from "./ledger.ts";
import { untilHurried } from "./hurry.ts";
import { until } from "./until.ts";
import { type Allowance, expectAllDoneOnce, type Verdict } from "./verdict.ts";

const CALLERS = 8;
const WORKERS = 2;
const SLOTS = 10;
/** Enough to keep the store busy, little enough to leave the machine to those who do harm. */
const PAUSE_MS = 8;
const RUN_MS = 3;

export interface LoadOptions extends Pick<ConnectOptions, "deadline"> {
  /** Where producers and workers find the store, perhaps over a wire. */
  readonly url: string;
  /** Straight to the store, for the one who looks at the end. */
  readonly witness: string;
}

/**
 * Producers and workers that go on whatever happens to their store, and write down what they were told. Each has a client of its own, as
 * processes have.
 */
export class Load {
  readonly #ledger = new MemoryLedger();
  readonly #witness: Client;
  readonly #workers: readonly Client[];
  readonly #producing: Promise<unknown>;
  readonly #enough = new AbortController();

  private constructor(witness: Client, producer: Client, workers: readonly Client[]) {
    this.#witness = witness;
    this.#workers = workers;
    for (const client of workers) this.#work(client);
    this.#producing = this.#produce(producer);
    // It is awaited at the end; until then nobody is there to hear of it.
    this.#producing.catch(() => this.#enough.abort());
  }

  static async start({ url, witness, deadline = "30s" }: LoadOptions): Promise<Load> {
    const open = async (to: string): Promise<Client> => {
      const client = await connect(to, { deadline, onTrouble: () => {} });
      onTestFinished(() => client.close({ grace: 0 }));
      return client;
    };
    const looking = await open(witness);
    await looking.configure("default", { retention: { count: 1_000_000 } });
    const [producer, ...workers] = await Promise.all(Array.from({ length: 1 + WORKERS }, () => open(url)));
    return new Load(looking, producer!, workers);
  }

  get lines(): readonly LedgerLine[] {
    return this.#ledger.lines;
  }

  /** Resolves when so many more were accepted, and so many more came to their end. */
  async goesOn(count: number): Promise<void> {
    const accepted = this.#ledger.count("accepted") + count;
    const ended = this.#ledger.count("end") + count;
    await until(() => this.#enough.signal.aborted || (this.#ledger.count("accepted") >= accepted && this.#ledger.count("end") >= ended));
    if (this.#enough.signal.aborted) await this.#producing;
  }

  /** Accepts no more, lets the workers drain the store, and holds the ledger against it. */
  async finish(allowance?: Allowance): Promise<Verdict> {
    this.#enough.abort();
    await this.#producing;
    await untilHurried(this.#witness, async () => {
      const { scheduled, pending, running, retrying } = (await this.#witness.stats()).counts;
      return scheduled + pending + running + retrying === 0;
    });
    await Promise.all(this.#workers.map((client) => client.close()));
    return expectAllDoneOnce(this.#witness, this.#ledger.lines, allowance);
  }

  #work(client: Client): void {
    const task = async (_payload: unknown, { job }: Context): Promise<object> => {
      const { id, attempt, fence, workerId } = job;
      this.#ledger.note({ op: "start", id, attempt, fence });
      await sleep(RUN_MS);
      this.#ledger.note({ op: "end", id, attempt, fence });
      return { attempt, fence, worker: workerId };
    };
    client.work({ task }, { concurrency: SLOTS, lease: "1s" });
  }

  #produce(client: Client): Promise<unknown> {
    let next = 0;
    const call = async (): Promise<void> => {
      while (!this.#enough.signal.aborted) {
        await this.#enqueue(client, next++);
        await sleep(PAUSE_MS);
      }
    };
    return Promise.all(Array.from({ length: CALLERS }, call));
  }

  async #enqueue(client: Client, number: number): Promise<void> {
    try {
      const { id } = await client.enqueue("task", { number }, { maxLost: 100, retryDelay: "20ms" });
      this.#ledger.note({ op: "accepted", number, id });
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== "store_unavailable") throw error;
      this.#ledger.note({ op: "unknown", number });
    }
  }
}
