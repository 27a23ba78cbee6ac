import { FNV_PRIME, FNV_START, partitionOf } from "../../core/partition.ts";
import { BUCKET, FLOW_BUCKETS, SETTINGS, TAG } from "./layout.ts";

/**
 * KEY NAMES. All begin with the prefix; none has a slash.
 *
 * A queue belongs to one of 1,024 partitions, by its name, and a job's id carries that partition. Everything that a transition may touch
 * has the hash tag of one partition, so on a Cluster it is in one slot and one script can change it:
 *
 *   <prefix>:{17}:j:<tag>          hash    id → body, written once; only an edit by hand writes another payload
 *   <prefix>:{17}:s:<tag>          hash    id → state record; missing until something changes the job
 *   <prefix>:{17}:l, :n            hash    "queue type" → number of the lane, and back
 *   <prefix>:{17}:w:<lane>         zset    pending jobs by rank, ties by sequence
 *   <prefix>:{17}:a:<queue>        set     lanes that may have pending jobs, for claims of any type
 *   <prefix>:{17}:d                zset    scheduled and retrying jobs by due time
 *   <prefix>:{17}:r                zset    running jobs by the end of their lease
 *   <prefix>:{17}:b                zset    blocked jobs by the time at which they were blocked
 *   <prefix>:{17}:bd               zset    those of them that become pending by themselves, by due time. Not in d, because versions that know
 *                                          nothing of suspended jobs would leave them there
 *   <prefix>:{17}:e:<queue>        list    completed and cancelled jobs in the order of their end; jobs that left again are skipped
 *   <prefix>:{17}:x                zset    dead and failed jobs
 *   <prefix>:{17}:i:<chunk>, :g    list    all jobs in the order of their creation, in short lists, and the zset that finds these
 *   <prefix>:{17}:p:<queue> <field> <value>  zset  jobs with this facet by sequence; "%" and "/" are written as in a URL. Version
 *                                          0.1 left jobs there that it removed, and readers skip them
 *   <prefix>:{17}:h:<id>, :o:<id>  list    history and log lines of a job
 *   <prefix>:{17}:st:<id>, :sv:<id>  hash  name → a step of the job, and its value if it has one. They are apart, because values may be large
 *   <prefix>:{17}:fl:<id>          hash    a flow: its head, its version, and its first members; see FLOW in layout.ts
 *   <prefix>:{17}:fl:<id>:<bucket>  hash   its other members, if it has many
 *   <prefix>:{17}:nt               zset    notices by number; a member begins with that number
 *   <prefix>:{17}:uj:<tag>         hash    id → what was changed by hand, one line each
 *   <prefix>:{17}:k:<digits>       hash    "queue key" → holder of an idempotency key, by digits of the digest of "queue key"
 *   <prefix>:{17}:kx               zset    keys that outlived their job, by expiry
 *   <prefix>:{17}:qs:<queue>       hash    settings of a queue
 *   <prefix>:{17}:u:<queue>        set     lanes whose jobs need new ranks. No other key may begin with "u:": a queue name may have colons
 *   <prefix>:{17}:t:<queue>        hash    number of jobs by status and level
 *   <prefix>:{17}:c:<queue>        hash    counters of all time; m:<start>:<queue> and h:<start>:<queue> of a minute and an hour,
 *                                          f:<start>:<queue> packed histograms of an hour by lane, and t-1 of all;
 *                                          found by the zsets pm, ph and pf
 *   <prefix>:{17}:mu               string  the minute up to which histograms were moved to their hours
 *   <prefix>:{17}:lk:<queue> <key>  string  what is remembered of a limit key. In names, "%" and "/" of a limit key are written as in a URL
 *   <prefix>:{17}:lw:<lane> <priority> <key>  zset  a line: pending jobs of one lane, priority and limit key, by due time. They are also
 *                                          in w:<lane>, where lists and counts find them by rank
 *   <prefix>:{17}:lr:<lane> <priority>  zset  a ring: the lines of one lane and priority that may start, by tag
 *   <prefix>:{17}:lp:<queue>       zset    rings that may have lines, the highest priority first
 *   <prefix>:{17}:lv:<queue>       hash    ring → its time, and the tag of the jobs without a key; "rate" → what the queue's rate remembers
 *   <prefix>:{17}:la:<queue>       zset    lines that stand aside, by the time at which they may start
 *   <prefix>:{17}:lb:<queue>       zset    the same before a limit changed: claims look at them again
 *   <prefix>:{17}:lh:<queue>       hash    id → limit key of each running job that has one
 *   <prefix>:{17}:li:<queue>       zset    limit keys without pending and running jobs, by the time from which on they may be forgotten
 *   <prefix>:{17}:lo:<queue>, :lq:<queue>  hash and zset  limits of keys of their own, and these keys in order
 *   <prefix>:{17}:z, :zd           hash    schedules whose jobs go to this partition; zset of them by next tick
 *   <prefix>:{17}:y:<worker turn>, :y:<try>  string  marks a repeated claim; expires by itself
 *   <prefix>:{17}:v                hash    the partition's own counters
 *   <prefix>:{17}:j, :s, :u, :k, :q:<queue>  string  keep version 0.1 away: the number of the form (see statements/form.ts)
 *   <prefix>:{17}:former:*         hash    what version 0.1 stored, while it is moved
 *
 * BUCKETS. A key with a million jobs would block its server for a second when a Cluster moves its slot, or when somebody removes it. So only
 * sorted sets and the list of ended jobs grow with the number of jobs; what takes most of the memory is in buckets. The bucket of a job
 * is its tag, two characters of its id, which the process that made the id keeps for 4,000 jobs of a partition (see lib/id.ts). So jobs that
 * are inserted together, and mostly claimed together, are in one bucket, and processes that enqueue one job each still share buckets: with
 * 4,096 tags, a bucket has 4,000 jobs, or a multiple of it where several processes drew its tag, and a partition never has more buckets
 * than that. Beyond tens of millions of jobs in a partition, buckets grow by one job for each 4,096. Ids of jobs that came from another engine
 * have any bits there, and are spread evenly.
 *
 * What belongs to no queue is outside the partitions.
 */
export class Keys {
  readonly prefix: string;
  /** A set of the names of all queues. */
  readonly queues: string;
  /** A hash: partition → its form; and "store" → the newest form of a process that opened the store (see form.ts). */
  readonly forms: string;
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
    this.forms = `${prefix}:forms`;
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

  /** The settings of a queue. */
  settings(partition: number, queue: string): string {
    return `${this.partition(partition)}:${SETTINGS}${queue}`;
  }

  /** The index of a facet. Scripts make the same name: see statements/facets.ts. */
  facet(queue: string, field: string, value: string): string {
    return `${this.partition(partitionOf(queue))}:p:${queue} ${`${field} ${value}`.replace(/[%/]/g, encodeURIComponent)}`;
  }

  /** The bucket of a job. */
  bucket(partition: number, kind: keyof typeof BUCKET, shortId: string): string {
    return `${this.partition(partition)}:${BUCKET[kind]}${shortId.slice(TAG.from, TAG.to)}`;
  }
}

/** The bucket of a member of a flow: FNV-1a of its name. Members are found by it, so it must never change. */
export function flowBucketOf(name: string): number {
  let hash = FNV_START;
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), FNV_PRIME);
  return 1 + (((hash >>> 16) ^ hash) & (FLOW_BUCKETS - 1));
}
