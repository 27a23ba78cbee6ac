import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../core/errors.ts";
import { Connection } from "./connection.ts";

/**
 * The schema, step by step. A released step is never edited: the next change is a new step at the end.
 *
 * One table holds every job, from insert to prune. A second table for running or finished jobs was measured and costs more b-tree work
 * than it saves. Each partial index holds only the rows of its state, so finished jobs slow nothing down.
 */
export const STEPS: readonly string[] = [
  `
  create table millrace_queue (
    id integer primary key,
    name text not null unique,
    paused int not null default 0,
    capacity int,
    head_start int not null,
    dead_letters int not null,
    keep_age int not null,
    keep_count int not null,
    keep_at_least int not null,
    -- The sequence up to which jobs have the present head start; null when all have.
    reranked_to int
  );

  create table millrace_lane (
    id integer primary key,
    queue int not null,
    type text not null,
    unique (queue, type)
  );

  create table millrace_job (
    seq integer primary key,
    id blob not null unique,
    lane int not null,
    queue int not null,
    -- 0 scheduled, 1 retrying, 2 pending, 3 running, 4 completed, 5 cancelled, 6 failed, 7 dead
    state int not null,
    rank int,
    priority int not null,
    run_at int not null,
    payload text not null,
    attempt int not null default 0,
    retry_count int not null default 0,
    snoozes int not null default 0,
    fence int not null default 0,
    -- The last settlement that was applied: its fence × 8 + the number of its outcome.
    settled int not null default 0,
    lease_until int,
    worker text,
    max_retries int not null,
    retry_delay int not null,
    timeout int not null,
    key text,
    key_ttl int,
    -- What few jobs have, as JSON: tags, meta, webhookUrl.
    extra text,
    created_at int not null,
    updated_at int not null,
    started_at int,
    ended_at int,
    run_ms real,
    result text,
    error text,
    progress text,
    log_count int not null default 0
  );
  create index millrace_ready on millrace_job (lane, rank) where state = 2;
  create index millrace_due on millrace_job (run_at) where state <= 1;
  create index millrace_leased on millrace_job (lease_until) where state = 3;
  create index millrace_ended on millrace_job (queue, state, ended_at) where state >= 4;

  -- Keys live apart from jobs, because they may outlive them. While the job is there, its own end gives the key's expiry;
  -- prune writes it here when it takes the job away.
  create table millrace_key (
    queue int not null,
    key text not null,
    job blob not null,
    fingerprint text not null,
    expires_at int,
    state int,
    primary key (queue, key)
  ) without rowid;
  create index millrace_key_expiry on millrace_key (expires_at) where expires_at is not null;

  create table millrace_attempt (
    job int not null,
    number int not null,
    worker text,
    started_at int not null,
    ended_at int not null,
    run_ms real,
    outcome text not null,
    error text,
    primary key (job, number)
  ) without rowid;

  create table millrace_log (
    job int not null,
    number int not null,
    at int not null,
    attempt int not null,
    text text not null,
    primary key (job, number)
  ) without rowid;

  create table millrace_tally (
    queue int not null,
    state int not null,
    level int not null,
    count int not null,
    primary key (queue, state, level)
  ) without rowid;

  -- step: 0 all time, 1 hour, 2 minute. metric: a counter, or a bucket of a histogram.
  create table millrace_count (
    queue int not null,
    step int not null,
    at int not null,
    metric int not null,
    value int not null,
    primary key (step, at, queue, metric)
  ) without rowid;

  create table millrace_schedule (
    name text primary key,
    spec text not null,
    paused int not null,
    version int not null,
    next_tick int,
    last_tick int,
    last_job blob,
    created_at int not null,
    updated_at int not null
  ) without rowid;
  create index millrace_schedule_due on millrace_schedule (next_tick) where paused = 0 and next_tick is not null;

  create table millrace_worker (
    id text primary key,
    entry text not null,
    heartbeat_at int not null,
    expires_at int not null
  ) without rowid;

  -- What changed, for other processes: a topic's version rises with the commit that concerns it.
  create table millrace_signal (topic text primary key, version int not null) without rowid;

  create table millrace_news (
    seq integer primary key autoincrement,
    at int not null,
    events text not null
  );
  `,
  // The claim of a remote worker that took a running job; its answer may have been lost.
  "alter table millrace_job add column turn int",
  // Allowances that all processes share: the time at which nothing will be in use.
  "create table millrace_allowance (name text primary key, free_at real not null) without rowid",
  // How often attempts were lost, and may be. Null in rows of an older version: then max_retries decides.
  "alter table millrace_job add column lost_count int not null default 0; alter table millrace_job add column max_lost int",
  // What all processes must know for a while, such as ended sessions.
  "create table millrace_mark (name text primary key, expires_at int not null) without rowid",
  // What was changed by hand, one line of JSON each; null for most jobs.
  "alter table millrace_job add column manual_changes text",
  // Who changed what by hand, in the whole store.
  "create table millrace_audit (number integer primary key autoincrement, at int not null, entry text not null)",
  // The jobs of a queue by the values of the payload fields that it declares. A trigger that removes entries with the job would make every
  // prune a quarter slower, also of jobs without facets. So a process of an older version may leave entries behind: see ADD_FACET.
  `
  alter table millrace_queue add column facets text;
  create table millrace_facet (
    queue int not null,
    field text not null,
    value text not null,
    seq int not null,
    primary key (queue, field, value, seq)
  ) without rowid;
  `,
  // The JSON Schemas of payloads that workers publish.
  "create table millrace_payload_schema (digest text primary key, text text not null, expires_at int not null)",
  // Muted error groups. An expires_at of null: until somebody unmutes it.
  "create table millrace_mute (name text primary key, at int not null, expires_at int, entry text not null) without rowid",
  // Histograms by hour, packed: see packed-times.ts. Those that an older version moved stay among the counts, until they are dropped.
  `create table millrace_hour_times (
    queue int not null,
    type int not null,
    at int not null,
    times text not null,
    primary key (queue, type, at)
  ) without rowid;
  create index millrace_hour_times_by_hour on millrace_hour_times (at)`,
  // Defaults for the options of the jobs of a queue, as JSON.
  "alter table millrace_queue add column job_defaults text",
  // Limits and turns by limit key. A job with a key belongs to a line; `lane`, `place` and `keyed` are explained in lane-numbers.ts and
  // line-numbers.ts. Its line is right while it waits or runs: a line without such jobs is dropped. One index has the pending jobs of a line in
  // order, and its leases, which are counted there, so that no counter can be wrong. The state comes first, because leases of many lines are then
  // on few pages, which every claim and every end writes. Every write of a job without a key evaluates the term of that index, so there is only
  // one, and its first part ends it.
  `
  alter table millrace_queue add column limits text;
  alter table millrace_queue add column limits_without_key text;
  alter table millrace_queue add column keyed int not null default 0;
  alter table millrace_job add column line int;
  create index millrace_in_line on millrace_job (state, line, run_at) where line is not null and state <= 3;

  create table millrace_limit_key (
    id integer primary key,
    queue int not null,
    key text not null,
    own text,
    held_until int not null default 0,
    -- What its rate remembers.
    busy_until real,
    interval_ms real,
    -- How many of its jobs wait; null until somebody asks.
    waiting int,
    unique (queue, key)
  );
  create index millrace_own_limits on millrace_limit_key (queue, key) where own is not null;

  -- The jobs of one type, priority and limit key.
  create table millrace_line (
    id integer primary key,
    queue int not null,
    limit_key int not null,
    lane int not null,
    priority int not null,
    tag real not null default 0,
    place int not null,
    until int,
    unique (limit_key, lane, priority)
  );
  create index millrace_turns on millrace_line (lane, priority, place, tag);
  create index millrace_asleep on millrace_line (queue, until) where place = 2;

  -- The lines of one type and priority take turns; tag is that of the jobs without a key.
  create table millrace_ring (
    queue int not null,
    lane int not null,
    priority int not null,
    time real not null default 0,
    tag real not null default 0,
    primary key (queue, lane, priority)
  ) without rowid;

  create table millrace_queue_rate (queue integer primary key, busy_until real not null, interval_ms real not null);
  `,
  // Durable work. Steps by job and name, with the value last: what is asked of a step without its value reads no more than one page. Whether a
  // job has steps is among its rare fields, so jobs without steps never look here. A suspended job is blocked, and its lease_until is the time at
  // which it becomes pending by itself, if there is one.
  `
  create table millrace_step (
    job int not null,
    name text not null,
    kind int not null,
    state int not null,
    until int,
    started_at int not null,
    ended_at int,
    attempt int not null,
    ended_by text,
    detail text,
    value text,
    primary key (job, name)
  ) without rowid;
  create table millrace_notice (number integer primary key autoincrement, notice text not null);
  create index millrace_suspended on millrace_job (lease_until) where state = 8 and lease_until is not null;
  `,
  // Flows: what is kept beside them.
  `
  create table millrace_flow (job integer primary key, version int not null, head text not null);
  create table millrace_member (flow int not null, name text not null, plan text not null, state text not null);
  create unique index millrace_member_name on millrace_member (flow, name);
  `,
];

export const SCHEMA_VERSION: number = STEPS.length;

/**
 * Brings the file to the present schema, or refuses one that a newer Millrace made. Every process does this at start: the write lock lets
 * one work while the others wait. It is one transaction, so an interrupted step leaves no trace.
 * The version is in our own table, because `user_version` belongs to the application that shares the file.
 */
export function migrate(db: DatabaseSync): void {
  if (versionOf(db) === SCHEMA_VERSION) return;
  db.exec("begin immediate");
  try {
    db.exec("create table if not exists millrace_meta (name text primary key, value int not null) without rowid");
    const found = versionOf(db);
    if (found > SCHEMA_VERSION) throw tooNew(found);
    for (const step of STEPS.slice(found)) db.exec(step);
    db.prepare("insert into millrace_meta values ('schema', ?) on conflict do update set value = excluded.value").run(SCHEMA_VERSION);
    db.exec("commit");
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}

/** Everything in a new file, as a script for sqlite3. */
export function schemaScript(): string {
  return [
    `-- Millrace, schema ${SCHEMA_VERSION}, for a SQLite file that has no tables of Millrace yet.`,
    "begin;",
    "create table millrace_meta (name text primary key, value int not null) without rowid;",
    ...STEPS.map((step) => `${step.trim().replace(/;$/, "")};`),
    `insert into millrace_meta values ('schema', ${SCHEMA_VERSION});`,
    "commit;",
    "",
  ].join("\n");
}

/** The version of our schema in the file; 0 if it has none. */
export function versionOf(db: DatabaseSync): number {
  const on = new Connection(db);
  const isKnown = on.number("select 1 from sqlite_schema where type = 'table' and name = 'millrace_meta'") !== null;
  return isKnown ? (on.number("select value from millrace_meta where name = 'schema'") ?? 0) : 0;
}

function tooNew(found: number): MillraceError {
  return new MillraceError(
    "unsupported_store",
    `the SQLite file has Millrace schema ${found}, and this Millrace knows only up to ${SCHEMA_VERSION}. Install the newer version that wrote it`,
  );
}
