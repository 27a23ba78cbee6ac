import { MemoryFeed } from "./feed.ts";
import { Jobs } from "./jobs.ts";
import { Counters } from "./counters.ts";
import { Schedules } from "./schedules.ts";
import { Shared } from "./shared.ts";
import { Notices } from "./notices.ts";

/** The memory store's data, which every verb works with. */
export class Context {
  /** The store's time, the same for everything in one call. */
  now = 0;
  readonly feed = new MemoryFeed();
  readonly counters = new Counters();
  readonly jobs = new Jobs(this.counters, this.feed);
  readonly schedules = new Schedules();
  readonly shared = new Shared();
  readonly notices = new Notices();
}
