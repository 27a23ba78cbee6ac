/**
 * THE TABLES OF FLOWS (core/flow.ts): what is kept beside the job of a flow.
 *
 *   flow     its version and its head. Whoever changes a flow locks this row first
 *   member   its members. Only a call that holds the row of the flow changes or drops them, so they need no locks of their own
 *
 * The texts of a member are read in pages, in the order of their names. A change of its state writes the row again beside the old one, so pages keep
 * room for that: no index entry is made, and a large plan, which is stored elsewhere, is not written again.
 *
 * That a job is a flow stands in the rare fields of its body (`extra`), so the removal of other jobs costs no look at these tables. A trigger drops
 * both with their job, also if a process of a version before removes it.
 */

/** Among the rare fields of a job: it is a flow. */
export const FLOW_MARK = '"flow":';

export const flowTables = (s: string): string => `
  create table ${s}.flow (job uuid primary key, version bigint not null, head text not null) with (fillfactor = 60);
  create table ${s}.member (
    flow uuid not null,
    name text collate "C" not null,
    state text not null,
    plan text not null,
    primary key (flow, name)
  ) with (fillfactor = 70);
  create function ${s}.drop_flow() returns trigger language plpgsql set enable_seqscan = off as $$
  begin
    delete from ${s}.flow where job = old.id;
    delete from ${s}.member where flow = old.id;
    return null;
  end $$;
  create trigger drop_flow after delete on ${s}.job for each row when (strpos(old.extra, '${FLOW_MARK}') > 0) execute function ${s}.drop_flow();`;
