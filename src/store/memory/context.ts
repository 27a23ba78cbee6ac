import { MemoryFeed } from "./feed.ts";
import { Jobs } from "./jobs.ts";
import { Ledger } from "./ledger.ts";
import { Schedules } from "./schedules.ts";
import { Shared } from "./shared.ts";

/** What every verb works with. */
export class Context {
  /** The store's time, the same for all that a call does. */
  now = 0;
  readonly feed = new MemoryFeed();
  readonly ledger = new Ledger();
  readonly jobs = new Jobs(this.ledger, this.feed);
  readonly schedules = new Schedules();
  readonly shared = new Shared();
}
