import type { Event } from "../../core/event.ts";
import { numbers } from "./codec.ts";
import type { Connections } from "./connections.ts";
import type { Statements } from "./statements.ts";

const PAGE = 1_000;
/** Numbers are given before the commit, so a lower one may appear after a higher one. It is waited for this long. */
const LATE_MS = 2_000;

/**
 * Reads news from the table in which processes publish them, each once, from the start on. News that were swept before they could be read
 * are reported as a gap.
 */
export class NewsReader {
  readonly #connections: Connections;
  readonly #sql: Statements;
  readonly #tell: (events: readonly Event[]) => void;
  readonly #missing = new Map<number, number>();
  #last: number | null = null;
  #isWanted = false;
  #started = 0;
  #reading = false;
  #again = false;

  constructor(connections: Connections, sql: Statements, tell: (events: readonly Event[]) => void) {
    this.#connections = connections;
    this.#sql = sql;
    this.#tell = tell;
  }

  start(): void {
    this.#started++;
    this.#isWanted = true;
    this.#last = null;
    this.#missing.clear();
    this.look();
  }

  stop(): void {
    this.#started++;
    this.#isWanted = false;
  }

  /** Reads what there is; if it is called meanwhile, once more. */
  look(): void {
    if (!this.#isWanted) return;
    if (this.#reading) this.#again = true;
    else void this.#read();
  }

  async #read(): Promise<void> {
    this.#reading = true;
    const started = this.#started;
    try {
      do {
        this.#again = false;
        if (this.#last === null) await this.#findEnd(started);
        else while (await this.#readPage(started));
      } while (this.#again && started === this.#started);
    } catch {
      // The next look will find it.
    } finally {
      this.#reading = false;
      if (started !== this.#started && this.#again) this.look();
    }
  }

  async #findEnd(started: number): Promise<void> {
    const [row] = await this.#connections.call(this.#sql.lastNews);
    if (started === this.#started) this.#last = row![0] as number;
  }

  /** True if there may be more. */
  async #readPage(started: number): Promise<boolean> {
    const rows = await this.#connections.call(this.#sql.readNews, [this.#last, numbers([...this.#missing.keys()]), PAGE]);
    if (started !== this.#started) return false;
    for (const [seq, events] of rows as [number, string][]) {
      this.#noteMissing(seq);
      this.#missing.delete(seq);
      this.#last = Math.max(this.#last!, seq);
      this.#tell(JSON.parse(events) as Event[]);
    }
    this.#giveUpMissing();
    return rows.length === PAGE;
  }

  #noteMissing(seq: number): void {
    const expiresAt = performance.now() + LATE_MS;
    for (let number = Math.max(this.#last! + 1, seq - PAGE); number < seq; number++) this.#missing.set(number, expiresAt);
    this.#tellGap(seq - PAGE - this.#last! - 1);
  }

  #giveUpMissing(): void {
    const now = performance.now();
    let missed = 0;
    for (const [seq, expiresAt] of this.#missing) {
      if (expiresAt >= now) continue;
      this.#missing.delete(seq);
      missed++;
    }
    this.#tellGap(missed);
  }

  #tellGap(missed: number): void {
    if (missed > 0) this.#tell([{ event: "gap", at: Date.now(), missed }]);
  }
}
