/**
 * THE TABLES OF LIMITS AND TURNS. Jobs with a limit key are in lanes of their own, whose ids are negative. Claims without keys never look at
 * them. Their narrow rows are in the five tables like all others; beside these, keyed jobs have rows here:
 *
 *   limit_lined    a pending job, in the order of its line (lane and key)
 *   limit_due      a scheduled or retrying one: only to count what waits
 *   limit_holding  a running one that a running limit counts: of its key, or of its queue, with a key or without. What runs is counted from
 *                  these rows, so no count can drift
 *
 *   limit_line     one (lane, key): when it may start next by its ring's time, and where it stands (PLACE in lines.ts). The line without a key
 *                  has the tag of the jobs without one, and the time of the ring
 *   limit_recheck  something happened to a line (a job came) or to all lines of a key (a lease ended): only ever inserted, by anybody, with no
 *                  lock. A claim or upkeep folds it into limit_line
 *   limit_key      the limits of a key, its hold and its rate. Whoever starts jobs of a limited key locks its row first, and counts in a later
 *                  statement. The row without a key is that of the queue
 *   limit_charge   units and holds that settlements add: only inserted. A claim folds them under the lock of their limit_key
 *
 * A process of a version before knows none of this. What it makes pending is put in line by a trigger. The rows of other jobs that it moves
 * stay here: a claim passes over them, and `sweep` drops them.
 */
import { IN_LINE, KEYED_MARK, PLACE } from "./lines.ts";

/** Rows come and go by the thousand: as EAGER in tables.ts. */
const EAGER = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0";

/** The tables whose rows come and go with jobs. */
export const BUSY_LIMIT_TABLES = ["limit_lined", "limit_holding", "limit_line", "limit_recheck"] as const;

export const limitTables = (s: string): string => `
  alter table ${s}.queue add column limits text;
  create view ${s}.typed_lane as select id, queue, priority, rtrim(type, '${KEYED_MARK}') as type, counted_as from ${s}.lane;

  create table ${s}.limit_lined (
    run_at bigint not null,
    seq bigint not null,
    lane int not null,
    cost int not null,
    id uuid not null,
    key text collate "C" not null,
    primary key (lane, key, run_at, seq)
  ) with (${EAGER});
  create table ${s}.limit_due (lane int not null, id uuid not null, key text collate "C" not null, primary key (lane, key, id)) with (${EAGER});
  create table ${s}.limit_holding (id uuid primary key, queue int not null, key text collate "C" not null) with (${EAGER});
  create index limit_holding_of_key on ${s}.limit_holding (queue, key);

  create table ${s}.limit_line (
    tag float8 not null default 0,
    -- Only in the line without a key: the time of the ring.
    clock float8 not null default 0,
    until bigint,
    queue int not null,
    lane int not null,
    place smallint not null default ${PLACE.idle},
    key text collate "C" not null,
    primary key (lane, key)
  ) with (fillfactor = 60, ${EAGER});
  create index limit_line_in_ring on ${s}.limit_line (lane, tag) where place = ${PLACE.ring};
  create index limit_line_until on ${s}.limit_line (queue, until) where until is not null;

  -- lane null: all lines of the key.
  create table ${s}.limit_recheck (queue int not null, lane int, key text collate "C" not null) with (${EAGER});
  create index limit_recheck_of_queue on ${s}.limit_recheck (queue);

  create table ${s}.limit_key (
    busy_until float8,
    interval_ms float8,
    held_until bigint,
    -- Of a queue: its running limit was set then, and what ran before may not be counted yet.
    recount_since bigint,
    queue int not null,
    -- Of a queue: a job waits for its running limit.
    full_up boolean not null default false,
    key text collate "C" not null,
    own text,
    primary key (queue, key)
  ) with (fillfactor = 60);
  -- interval_ms: of the rate at that time; null: no units.
  create table ${s}.limit_charge (at bigint not null, units float8 not null, interval_ms float8, held_until bigint, queue int not null, key text collate "C" not null);
  create index limit_charge_of_key on ${s}.limit_charge (queue, key);

  create function ${s}.limit_line_up() returns trigger language plpgsql as $$
  declare
    v_extra json := (select extra::json from ${s}.job where id = new.id);
  begin
    insert into ${s}.limit_lined (lane, key, run_at, seq, id, cost)
    values (new.lane, v_extra ->> 'limitKey', new.run_at, new.seq, new.id, coalesce((v_extra ->> 'cost')::int, 1)) on conflict do nothing;
    insert into ${s}.limit_recheck (queue, lane, key) values (new.queue, new.lane, v_extra ->> 'limitKey');
    return null;
  end $$;
  create trigger limit_line_up after insert on ${s}.ready for each row when (new.lane < 0 and new.turn is distinct from ${IN_LINE}) execute function ${s}.limit_line_up();

  create function ${s}.limit_note_due() returns trigger language plpgsql as $$
  begin
    if tg_op = 'INSERT' then
      insert into ${s}.limit_due (lane, id, key) select new.lane, new.id, extra::json ->> 'limitKey' from ${s}.job where id = new.id on conflict do nothing;
    else
      delete from ${s}.limit_due d using ${s}.job j where j.id = old.id and d.lane = old.lane and d.key = j.extra::json ->> 'limitKey' and d.id = old.id;
    end if;
    return null;
  end $$;
  create trigger limit_due_in after insert on ${s}.due for each row when (new.lane < 0) execute function ${s}.limit_note_due();
  create trigger limit_due_out after delete on ${s}.due for each row when (old.lane < 0) execute function ${s}.limit_note_due();`;
