import pg from "pg";
import { idMaker } from "../../src/lib/id.ts";
import { BINARY_ARRAYS } from "../../src/store/postgres/arrays.ts";
import { TYPES } from "../../src/store/postgres/driver.ts";
import { changed } from "../../src/store/postgres/functions/snippets.ts";
import { baseline } from "../../src/store/postgres/tables.ts";
import { PAYLOAD } from "../payload.ts";
import { type Bare, bareQueue } from "./bare.ts";

/** In: ids, payloads, now. */
const INSERT = `
  with item as materialized (
    select nextval('bare.job_seq_seq') as seq, i.id, i.payload from unnest($1::uuid[], $2::text[]) i(id, payload)
  ), body as (
    insert into bare.job (seq, id, lane, created_at, max_retries, max_lost, retry_delay, timeout, payload)
    select seq, id, 1, $3::bigint, 3, 3, 1000, 30000, payload from item
  )
  insert into bare.ready (id, seq, queue, lane, priority, state, run_at, updated_at)
  select id, seq, 1, 1, 0, 2, $3::bigint, $3::bigint from item`;

const ENDED = { updated_at: "$3::bigint", state: "4", ended_at: "$3::bigint", lease_until: "null", run_ms: "1", result: "'null'" };
const GRANTED = {
  updated_at: "$3::bigint",
  attempt: "t.attempt + 1",
  fence: "t.fence + 1",
  state: "3",
  started_at: "$3::bigint",
  lease_until: "$3::bigint + 30000",
  turn: "1",
  worker: "'w-bare'",
};

/** In: ids and fences of ended jobs, now, limit. Out: id, fence and payload of claimed jobs. */
const EXCHANGE = `
  with gone as (
    delete from bare.running r using unnest($1::uuid[], $2::int[]) i(id, fence) where r.id = i.id and r.fence = i.fence returning r.*
  ), over as (
    insert into bare.ended select ${changed("g", ENDED)} from gone g
  ), taken as (
    delete from bare.ready where ctid = any(array(
      select ctid from bare.ready where lane = 1 order by run_at, seq limit $4 for update skip locked)) returning *
  ), granted as (
    insert into bare.running select ${changed("t", GRANTED)} from taken t
  )
  select t.id, t.fence + 1, j.payload from taken t join bare.job j on j.id = t.id order by t.seq`;

/** The planner settings of the engine's functions. */
const PLANNED = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off";

type Held = [id: string, fence: number, payload: string];

/** Plain statements on the engine's own tables, one connection per batch in flight. */
export async function openBarePostgres({ url }: { readonly url: string }): Promise<Bare> {
  const pool = new pg.Pool({ connectionString: url, max: 2, types: TYPES, options: PLANNED });
  pool.on("error", () => {});
  await pool.query(`create schema bare; ${baseline("bare")}`);
  const arrays = BINARY_ARRAYS;
  const newId = idMaker(() => Date.now());

  const insert = (size: number): Promise<unknown> => {
    const all = Array.from({ length: size }, () => newId(0));
    const values = [arrays.ids(all), arrays.texts(all.map(() => JSON.stringify(PAYLOAD))), Date.now()];
    return pool.query({ name: "insert", text: INSERT, values });
  };
  const exchange = async (held: readonly Held[], limit: number): Promise<readonly Held[]> => {
    const values = [arrays.ids(held.map(([id]) => id)), arrays.ints(held.map(([, fence]) => fence)), Date.now(), limit];
    const { rows } = await pool.query<Held>({ name: "exchange", text: EXCHANGE, values, rowMode: "array" });
    for (const [, , payload] of rows) JSON.parse(payload);
    return rows;
  };
  return bareQueue({ inFlight: 2, insert, exchange, close: () => pool.end() });
}
