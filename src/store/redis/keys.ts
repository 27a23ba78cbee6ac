/**
 * KEY NAMES. All begin with the prefix; none has a slash.
 *
 * A queue belongs to one of 1,024 partitions, by its name, and a job's id carries that partition. Everything that a transition may touch
 * has the hash tag of one partition, so on a Cluster it is in one slot and one script can change it:
 *
 *   <prefix>:{17}:j                hash    id → body, written once; only an edit by hand writes another payload
 *   <prefix>:{17}:s                hash    id → state record; missing until something changes the job
 *   <prefix>:{17}:l, :n            hash    "queue type" → number of the lane, and back
 *   <prefix>:{17}:w:<lane>         zset    pending jobs by rank, ties by sequence
 *   <prefix>:{17}:a:<queue>        set     lanes that may have pending jobs, for claims of any type
 *   <prefix>:{17}:d                zset    scheduled and retrying jobs by due time
 *   <prefix>:{17}:r                zset    running jobs by the end of their lease
 *   <prefix>:{17}:b                zset    blocked jobs by the time at which they were blocked
 *   <prefix>:{17}:e:<queue>        list    completed and cancelled jobs in the order of their end; jobs that left again are skipped
 *   <prefix>:{17}:x                zset    dead and failed jobs
 *   <prefix>:{17}:i:<chunk>, :g    list    all jobs in the order of their creation, in short lists, and the zset that finds these
 *   <prefix>:{17}:p:<queue> <field> <value>  zset  jobs with this facet by sequence; "%" and "/" are written as in a URL. An older version
 *                                          that runs beside leaves jobs that it removes, and readers skip them
 *   <prefix>:{17}:h:<id>, :o:<id>  list    history and log lines of a job
 *   <prefix>:{17}:u                hash    id → what was changed by hand, one line each; an older version that runs beside leaves those of
 *                                          jobs that it removes, and nothing reads them again
 *   <prefix>:{17}:k, :kx           hash    "queue key" → holder of an idempotency key; zset of keys that outlived their job, by expiry
 *   <prefix>:{17}:q:<queue>        hash    settings of a queue
 *   <prefix>:{17}:u:<queue>        set     lanes whose jobs need new ranks. No other key may begin with "u:": a queue name may have colons
 *   <prefix>:{17}:t:<queue>        hash    number of jobs by status and level
 *   <prefix>:{17}:c:<queue>        hash    counters of all time; m:<start>:<queue> and h:<start>:<queue> of a minute and an hour,
 *                                          f:<start>:<queue> packed histograms of an hour by lane, and t-1 of all;
 *                                          found by the zsets pm, ph and pf
 *   <prefix>:{17}:mu               string  the minute up to which histograms were moved to their hours
 *   <prefix>:{17}:z, :zd           hash    schedules whose jobs go to this partition; zset of them by next tick
 *   <prefix>:{17}:y:<worker turn>, :y:<try>  string  marks a repeated claim; expires by itself
 *   <prefix>:{17}:v                hash    the partition's own counters
 *
 * What belongs to no queue is outside the partitions.
 */
export class Keys {
  readonly prefix: string;
  /** A set of the names of all queues. */
  readonly queues: string;
  readonly workers: string;
  /** A zset of the entries of the audit by number, and of `last`, by the last number below zero: it is there when all entries are gone. */
  readonly audit: string;
  /** A hash: error group → its mute. */
  readonly mutes: string;
  /** A sorted set: digest of a schema of payloads → until when it is kept. */
  readonly schemas: string;
  /** A hash: schedule name → partition; and a set of the partitions that have schedules. */
  readonly schedules: string;
  readonly schedulePartitions: string;
  /** A flag that exists while somebody listens to news. */
  readonly listening: string;
  /** Channels. */
  readonly hints: string;
  readonly news: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.queues = `${prefix}:queues`;
    this.workers = `${prefix}:workers`;
    this.audit = `${prefix}:audit`;
    this.mutes = `${prefix}:mutes`;
    this.schemas = `${prefix}:schemas`;
    this.schedules = `${prefix}:schedules`;
    this.schedulePartitions = `${prefix}:schedule-partitions`;
    this.listening = `${prefix}:listening`;
    this.hints = `${prefix}:hints`;
    this.news = `${prefix}:news`;
  }

  /** The time at which the allowance is unused again; the key expires then. */
  allowance(name: string): string {
    return `${this.prefix}:allowance:${name}`;
  }

  /** The time until which the mark is set. */
  mark(name: string): string {
    return `${this.prefix}:mark:${name}`;
  }

  /** The time until which a schema of payloads is kept, a space, and its text; the key expires then. */
  schema(digest: string): string {
    return `${this.prefix}:schema:${digest}`;
  }

  /** The beginning of a partition's key names; scripts add the rest. */
  partition(number: number): string {
    return `${this.prefix}:{${number}}`;
  }
}
