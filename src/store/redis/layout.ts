/**
 * THE PACKED FORMS. Each is a list of fields, one after the other, big-endian. The list gives the formats by which scripts pack and unpack,
 * the positions at which they cut, and where a reader of the bytes finds a field. Fields have their names in scripts.
 */

/** How many bytes each format of the server's `struct` takes. */
const BYTES = { B: 1, b: 1, I2: 2, I3: 3, I4: 4, I5: 5, I6: 6, I7: 7, d: 8 } as const;

type Formats<Name extends string> = Readonly<Record<Name, keyof typeof BYTES>>;
type Values<Name extends string> = Readonly<Partial<Record<Name, string | number>>>;

class Layout<Name extends string> {
  readonly #formats: Formats<Name>;
  readonly #order: readonly Name[];
  /** Where each field begins, counted from 0. */
  readonly at: Readonly<Record<Name, number>>;
  /** How many bytes all fields take: what follows them begins there. */
  readonly bytes: number;

  constructor(formats: Formats<Name>) {
    this.#formats = formats;
    this.#order = Object.keys(formats) as Name[];
    let bytes = 0;
    this.at = Object.fromEntries(
      this.#order.map((name) => [name, (bytes += BYTES[formats[name]]) - BYTES[formats[name]]]),
    ) as typeof this.at;
    this.bytes = bytes;
  }

  /** All names, in order. */
  get names(): string {
    return this.#order.join(", ");
  }

  /** The format of all fields, or of those from one to another. */
  format(from: Name = this.#order[0]!, to: Name = this.#order.at(-1)!): string {
    const between = this.#order.slice(this.#order.indexOf(from), this.#order.indexOf(to) + 1);
    return `>${between.map((name) => this.#formats[name]).join("")}`;
  }

  /** Lua: packs all fields, each from the variable of its name or from the given value. */
  pack(values: Values<Name>): string {
    return `pack('${this.format()}', ${this.#order.map((name) => values[name] ?? name).join(", ")})`;
  }

  /** Lua: the same, with 0 for each field that is not given. */
  packNew(values: Values<Name>): string {
    return this.pack({ ...Object.fromEntries(this.#order.map((name) => [name, 0])), ...values });
  }

  /** Lua: unpacks these fields, given in their order, and skips those in between. */
  open(text: string, ...names: readonly Name[]): string {
    const first = this.at[names[0]!];
    let at = first;
    const formats = names.map((name) => {
      const passed = "x".repeat(this.at[name] - at);
      at = this.#end(name);
      return passed + this.#formats[name];
    });
    return `open('>${formats.join("")}', ${text}${first === 0 ? "" : `, ${first + 1}`})`;
  }

  /** Lua: the bytes of the fields from one to another. */
  cut(text: string, from: Name, to: Name = from): string {
    return `sub(${text}, ${this.at[from] + 1}, ${this.#end(to)})`;
  }

  /** Lua: everything from a field on; without one, what follows all fields. */
  rest(text: string, from?: Name): string {
    return `sub(${text}, ${(from === undefined ? this.bytes : this.at[from]) + 1})`;
  }

  #end(name: Name): number {
    return this.at[name] + BYTES[this.#formats[name]];
  }
}

/**
 * A state record. `retries` has two bytes: how many attempts were lost, and how many retries were used. `over` is the end of the lease of a
 * running job, or the end of an ended job, else 0; `ran` is -1 for no time; `settled` is the mark of the last settlement; `history` is the
 * highest attempt in the history; `wl`, `pl` and `el` are the lengths of worker, progress and error, which follow, then the result.
 */
export const RECORD = new Layout({
  state: "B",
  flags: "B",
  priority: "b",
  lane: "I3",
  seq: "I7",
  fence: "I4",
  attempt: "I4",
  retries: "I2",
  snoozes: "I2",
  runAt: "I6",
  startedAt: "I6",
  updatedAt: "I6",
  over: "I6",
  ran: "d",
  settled: "I5",
  turn: "I4",
  history: "I4",
  logs: "I2",
  wl: "I2",
  pl: "I4",
  el: "I4",
});
/** What one lost attempt adds to `retries`. */
export const LOSS = 256;
/**
 * Its key belongs to another job by now; a cancel ended its lease; it has a result; it was suspended, so its next claim takes no units of a
 * rate; its present claim took none.
 */
export const RECORD_FLAG = { keyGone: 1, leaseCancelled: 2, hasResult: 4, resumed: 8, free: 16 } as const;

/**
 * The head of a body. After it come, if the flags say so, when it is due (DUE), its key (KEY and the text), and its cost and limit key (LIMIT
 * and the text, which is empty if it has only a cost); then what the client packed, of which scripts know only the first line end: the
 * payload follows it.
 *
 * That a job was called by another, and that it has steps, are flags of its body: versions that know nothing of steps keep them there, while
 * they drop flags of a record that they do not know. They are the last ones, so one comparison tells whether a job has neither.
 */
export const HEAD = new Layout({ created: "I6", flags: "B", priority: "b", lane: "I3", seq: "I7" });
export const HEAD_FLAG = { scheduled: 1, keyed: 2, faceted: 4, costed: 8, limited: 16, called: 32, hasSteps: 64 } as const;
export const DUE = new Layout({ runAt: "I6" });
export const KEY = new Layout({ ttl: "I6", length: "B" });
export const LIMIT = new Layout({ cost: "I3", length: "B" });
/** In the argument of a job, its cost and the length of its limit key have this many digits. The limit key follows. */
export const LIMIT_DIGITS = { cost: 7, length: 3 } as const;

/**
 * Jobs with a limit key have a lane of their own: the number of the lane of their queue and type, and this. So a record tells by one byte that
 * its job has a limit key, and claims that know nothing of limits never meet one.
 */
export const LIMITED_LANE: number = 2 ** 23;
/** The first byte of such a number is at least this. */
export const LIMITED_BYTE: number = LIMITED_LANE / 2 ** 16;

/**
 * What is remembered of a limit key: how many of its jobs run, wait, and are pending; how many of its lines stand aside; until when it is held,
 * what its rate remembers (`interval` is 0 if it has nothing), and whether it is among the resting keys. Its lines follow.
 */
export const LIMIT_KEY = new Layout({
  running: "I4",
  waiting: "I4",
  pending: "I4",
  aside: "I3",
  held: "I6",
  busy: "d",
  interval: "d",
  resting: "B",
});
/**
 * A line: the pending jobs of one lane, priority and limit key. `size` is how many, `place` where it stands, `tag` when it may start next, in
 * the time of its ring. In the ring, `seq` goes before the key: of equal tags, the line that came first goes first.
 */
export const KEY_LINE = new Layout({ lane: "I3", priority: "b", place: "B", size: "I4", tag: "d", seq: "I7" });
/** It is empty; in its ring; waits for a time; waits until a lease of its key ends. */
export const LINE_PLACE = { nowhere: 0, ring: 1, asleep: 2, parked: 3 } as const;

/** A member of a sorted set of jobs: equal scores are ordered by sequence. The id follows. */
export const MEMBER = new Layout({ seq: "I7" });
/** An entry of the list of ended jobs. The id follows. */
export const ENDED = new Layout({ over: "I6" });

/** The holder of an idempotency key: the id and the fingerprint follow. `state` is how a pruned job ended, HELD while the job exists. */
export const HOLDER = new Layout({ state: "B", expiry: "I6", ttl: "I6" });
/** No terminal state has this number. (It is also a state's number, but not of one that is pruned.) */
export const HELD = 8;

/** An attempt in the history: worker and error follow. */
export const ATTEMPT = new Layout({ number: "I4", startedAt: "I6", endedAt: "I6", ran: "d", outcome: "B", wl: "I2" });
/** A log line: its text follows. */
export const LINE = new Layout({ at: "I6", attempt: "I4" });

/**
 * A step without its value: what ended it, and its detail follow. `has` says which of them it has; `bytes` and `length` are the lengths of its
 * value and of what ended it. `endedAt` is 0 while it is open.
 */
export const STEP = new Layout({
  kind: "B",
  state: "B",
  has: "B",
  attempt: "I4",
  startedAt: "I6",
  endedAt: "I6",
  dueAt: "I6",
  bytes: "I4",
  length: "I2",
});
export const STEP_HAS = { value: 1, dueAt: 2, by: 4, detail: 8 } as const;
/** All steps of a job: its life, and how many bytes their values have. */
export const STEPS = new Layout({ life: "I4", bytes: "I4" });
/** Lua: the field of that. No text in UTF-8 has this byte, so no step has this name. */
export const STEPS_FIELD = "'\\255'";
/** How the names of a job's steps, and of their values, begin. */
export const STEPS_OF = { heads: "st:", values: "sv:" } as const;

/**
 * A flow is a hash, in which its first members stand beside its head. A call that would make them too many puts its own members into buckets,
 * numbered from 1 by a hash of their names, and so does each later call. So a flow with few members is one key, that key has no more members than a
 * bucket of jobs has jobs (see keys.ts), and in a flow of 1,000,000 a bucket has 15,625. No member ever moves. With fewer beside the head, a
 * flow of 2,000 would have buckets of up to 64 fields: the server frees these at once, and only larger ones in the background.
 *
 * The plan and the state of a member are two fields, so a change of the state writes no plan. A field begins with a letter; the name follows.
 */
const FLOW = "fl:";
/** Lua: the key of a flow. After it and a colon come the numbers of its buckets. */
export const flowKey = (id: string): string => `B .. '${FLOW}' .. ${id}`;
export const MOST_BESIDE_HEAD = 4_000;
export const FLOW_BUCKETS = 64;
/** `buckets`: how many buckets it has; missing while it has none. */
export const FLOW_FIELD = { version: "v", head: "h", buckets: "b", plan: "p", state: "s" } as const;

/** A schedule: the id of its last job (if `length` is not 0) and its spec in JSON follow. */
export const SCHEDULE = new Layout({
  version: "I7",
  flags: "B",
  nextTick: "I6",
  lastTick: "I6",
  createdAt: "I6",
  updatedAt: "I6",
  length: "B",
});
export const SCHEDULE_FLAG = { paused: 1, hasNext: 2, hasLast: 4 } as const;

/** Lua: the id of the job that has a key. */
export const holderId = (holder: string): string => `sub(${holder}, ${HOLDER.bytes + 1}, ${HOLDER.bytes + ID_CHARS})`;

/** Lua: whether a flag is set. */
export const isSet = (flags: string, flag: number): string => `${flags} % ${2 * flag} >= ${flag}`;

export const ID_CHARS = 22;
/** Which characters of an id are the name of its bucket: the tag of lib/id.ts. */
export const TAG = { from: 14, to: 16 } as const;
/** Lua: the name of a job's bucket. */
export const tagOf = (id: string): string => `sub(${id}, ${TAG.from + 1}, ${TAG.to})`;
/** How the names of buckets begin (see keys.ts): of bodies, of state records, of changes by hand. */
export const BUCKET = { bodies: "j:", records: "s:", changes: "uj:" } as const;
/** Lua: the bucket of a job, with its body, its state record, or its changes by hand. */
export const bucketOf = (kind: keyof typeof BUCKET, id: string): string => `B .. '${BUCKET[kind]}' .. ${tagOf(id)}`;
/** How many digits of the digest of an idempotency key are the name of its bucket. */
export const KEY_DIGITS = 3;
/** How the names of queues' settings begin. */
export const SETTINGS = "qs:";
/** Lua: the settings of a queue. */
export const settingsOf = (queue: string): string => `B .. '${SETTINGS}' .. ${queue}`;
/** The form of what is stored (see statements/form.ts). */
export const FORM = 2;
/** Many jobs of one call have one kind (or settlements one shape): each begins with its number, in this many digits. The id follows. */
export const KIND_DIGITS = 3;
/** The id of a job with a key is followed by the key's length, in this many digits, and the key. */
export const LENGTH_DIGITS = 4;
