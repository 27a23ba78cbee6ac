import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { STRANGER } from "../../history/line.ts";
import { type Deed, noted, type Stage } from "../deed.ts";
import { asOperator } from "./postgres-operator.ts";

const LOOK_MS = 20;
/** So long is a worker left to come back by itself (see RECOVERY_MS of history/health.ts), before anything else is done that would help it. */
const LEFT_ALONE_MS = 18_000;

/**
 * Commits wait for a replica that does not exist, for longer than a worker waits for an answer. What they have done nobody sees meanwhile, and
 * their rows stay locked; then all of them come true at once. It took effect when somebody waits so.
 */
export async function stalledCommits(url: string, { random }: Stage): Promise<boolean> {
  return asOperator(url, async (client) => {
    await setForAll(client, "alter system set synchronous_standby_names = 'nobody'");
    try {
      await sleep(random.int(5_500, 7_500));
      const { rowCount } = await client.query("select from pg_stat_activity where wait_event = 'SyncRep'");
      return rowCount! > 0;
    } finally {
      await setForAll(client, "alter system reset synchronous_standby_names");
    }
  });
}

async function setForAll(client: pg.Client, setting: string): Promise<void> {
  await client.query(setting);
  await client.query("select pg_reload_conf()");
}

/**
 * As after a failover: connections break, the new ones come to a server that takes no writes yet, and stay so when writes are possible again on
 * any newer one. It took effect when there are sessions that began in between.
 */
export function readOnlySessions(url: string, role: string): Deed {
  const what = "sessions left read-only";
  const attempt: Deed["attempt"] = async (stage) => {
    const isDone = await noted(stage, { what, who: null }, () => leaveReadOnly(url, role, stage));
    if (isDone) await sleep(LEFT_ALONE_MS);
    return isDone;
  };
  return { what, isLong: true, attempt };
}

async function leaveReadOnly(url: string, role: string, { random }: Stage): Promise<boolean> {
  return asOperator(url, async (client) => {
    await client.query(`alter role ${role} set default_transaction_read_only = on`);
    try {
      await client.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", [role]);
      const { rows } = await client.query<{ now: string }>("select clock_timestamp()::text as now");
      await sleep(random.int(500, 2_500));
      const begun = "select from pg_stat_activity where usename = $1 and application_name = 'millrace' and backend_start > $2::timestamptz";
      return (await client.query(begun, [role, rows[0]!.now])).rowCount! > 0;
    } finally {
      await client.query(`alter role ${role} reset default_transaction_read_only`);
    }
  });
}

/** Rows of ours that somebody else locks for seconds. Nobody else's job is to wait for that. */
export function heldRows(url: string): Deed[] {
  return [
    // Its end has to be reported, and its lease renewed.
    rowHeld(url, "running row held", "select id from millrace.running where state = 3 limit 3 for update skip locked"),
    rowHeld(url, "pending row held", "select id from millrace.ready order by run_at limit 3 for update skip locked"),
    { ...rowHeld(url, "key held", "select job as id from millrace.key limit 3 for update skip locked"), isLong: true },
    { ...rowHeld(url, "queue held", "select null as id from millrace.queue where name = 'side' for update"), isLong: true },
  ];
}

function rowHeld(url: string, what: string, take: string): Deed {
  const attempt: Deed["attempt"] = async (stage) => {
    try {
      return await asOperator(url, (client) => hold(client, what, take, stage));
    } catch {
      // The server was killed meanwhile, or refuses connections: this was no effect of ours.
      return false;
    }
  };
  return { what, attempt };
}

async function hold(client: pg.Client, what: string, take: string, stage: Stage): Promise<boolean> {
  await client.query("begin");
  const { rows } = await client.query<{ id: string | null }>(take);
  if (rows.length === 0) return false;
  const jobs = rows.flatMap(({ id }) => id ?? []);
  return noted(stage, { what, who: STRANGER, jobs }, async () => {
    // Claims pass over a row that is locked; all others have to wait for it, and are seen to.
    let isFelt = what === "pending row held";
    for (let left = stage.random.int(1_500, stage.isShort ? 2_500 : 5_000); left > 0; left -= LOOK_MS) {
      isFelt ||= (await client.query("select from pg_locks where not granted")).rowCount! > 0;
      await sleep(LOOK_MS);
    }
    await client.query("rollback");
    return isFelt;
  });
}
