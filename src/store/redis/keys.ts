/**
 * WHERE THINGS ARE. All names begin with the prefix; none holds a slash.
 *
 * A queue belongs to one of 1,024 partitions, by its name, and the id of a job carries that partition. Everything that a transition may touch
 * is under the hash tag of one partition, so that on a Cluster it is in one slot and one script can change it:
 *
 *   <prefix>:{17}:j                hash    id → body: when, where and what, written once
 *   <prefix>:{17}:s                hash    id → state record; a job that nobody ever touched has none
 *   <prefix>:{17}:l, :n            hash    "queue type" → number of the lane, and back
 *   <prefix>:{17}:w:<lane>         zset    pending jobs by rank, ties by sequence
 *   <prefix>:{17}:a:<queue>        set     lanes that may hold pending jobs: what a claim of any type looks through
 *   <prefix>:{17}:d                zset    scheduled and retrying jobs by due time
 *   <prefix>:{17}:r                zset    running jobs by the end of their lease
 *   <prefix>:{17}:b                zset    blocked jobs by the time since which they are
 *   <prefix>:{17}:e:<queue>        list    completed and cancelled jobs in the order of their end; who left again is passed over
 *   <prefix>:{17}:x                zset    dead and failed jobs
 *   <prefix>:{17}:i:<chunk>, :g    list    all jobs in the order of their creation, in short lists, and the zset that finds these
 *   <prefix>:{17}:h:<id>, :o:<id>  list    history and log lines of a job
 *   <prefix>:{17}:k, :kx           hash    "queue key" → holder of an idempotency key; zset of keys that outlived their job, by expiry
 *   <prefix>:{17}:q:<queue>        hash    settings of a queue
 *   <prefix>:{17}:t:<queue>        hash    how many jobs there are by status and level
 *   <prefix>:{17}:c:<queue>        hash    counters of all time; m:<start>:<queue> and h:<start>:<queue> of a minute and an hour,
 *                                          found by the zsets pm and ph
 *   <prefix>:{17}:z, :zd           hash    schedules whose jobs go to this partition; zset of them by next tick
 *   <prefix>:{17}:y:<worker turn>, :y:<try>  string  a repeat of this claim was here; vanishes by itself
 *   <prefix>:{17}:v                hash    the partition's own counters
 *
 * What belongs to no queue is beside the partitions.
 */
export class Keys {
  readonly prefix: string;
  /** A set of the names of all queues. */
  readonly queues: string;
  readonly workers: string;
  /** A hash: name of a schedule → its partition; and a set of the partitions that have any. */
  readonly schedules: string;
  readonly schedulePartitions: string;
  /** A flag that lives while somebody listens to news. */
  readonly listening: string;
  /** Channels. */
  readonly hints: string;
  readonly news: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.queues = `${prefix}:queues`;
    this.workers = `${prefix}:workers`;
    this.schedules = `${prefix}:schedules`;
    this.schedulePartitions = `${prefix}:schedule-partitions`;
    this.listening = `${prefix}:listening`;
    this.hints = `${prefix}:hints`;
    this.news = `${prefix}:news`;
  }

  /** The time at which nothing of an allowance will be in use; the key lives until then. */
  allowance(name: string): string {
    return `${this.prefix}:allowance:${name}`;
  }

  /** A mark: until when. */
  mark(name: string): string {
    return `${this.prefix}:mark:${name}`;
  }

  /** What the names of a partition begin with: scripts add the rest. */
  partition(number: number): string {
    return `${this.prefix}:{${number}}`;
  }
}
