/**
 * FUNCTIONS ARE CODE. Each verb is one call of a function: one round trip and one commit, whatever it has to look up. The server keeps
 * their plans without prepared statements, which a transaction pooler would lose, and a caller's own transaction can call them through any
 * driver.
 *
 * All functions of a Millrace version are one set. The digest of their texts is a suffix of every name: `millrace.exchange_1a2b3c4d`. So a
 * changed text makes a new set beside the old one, and processes of both versions work on the same tables. The row `functions_<digest>` of
 * `meta` says when a process last used a set.
 *
 *   missing ─→ used      a process that needs the set opens the store, or a call fails because it is missing
 *   used ─→ missing      no process reported using it for a day: `sweep` drops it
 *
 * The function that users call (functions/enqueue-from-sql.ts) is created with a set, and stays.
 */
import { createHash } from "node:crypto";
import { DAY_MS, HOUR_MS } from "../../core/time-units.ts";
import { spend } from "./functions/allowance.ts";
import { createSqlEnqueue, lacksSqlEnqueue } from "./functions/enqueue-from-sql.ts";
import { exchange } from "./functions/exchange.ts";
import { admit, enqueue, freeKeys } from "./functions/insert.ts";
import { admitFlows, changeFlows, readFlows } from "./functions/flows.ts";
import { hourTimes } from "./functions/hour-times.ts";
import { extend, note } from "./functions/leases.ts";
import { LISTS } from "./functions/lists.ts";
import { change, remove } from "./functions/manage.ts";
import { replace } from "./functions/replace.ts";
import { attempts, counters, expired, find, queues } from "./functions/reads.ts";
import { endSteps, keepSteps, readSteps } from "./functions/steps.ts";
import { fold, promote, prune, tick } from "./functions/upkeep.ts";
import { keyUse } from "./functions/limits.ts";
import { absorb, recount, room, take } from "./functions/take.ts";
import { sweepLimits } from "./functions/sweep-limits.ts";
import { foldTurns, tendTurns } from "./functions/turns.ts";
import { ahead, oldest } from "./functions/waiting.ts";

type FunctionText = (schema: string, digest: string) => string;

export interface FunctionSet {
  readonly digest: string;
  readonly texts: readonly FunctionText[];
}

const WRITES = [
  enqueue,
  admit,
  freeKeys,
  exchange,
  extend,
  note,
  change,
  remove,
  promote,
  prune,
  fold,
  tick,
  spend,
  absorb,
  recount,
  room,
  take,
  foldTurns,
  tendTurns,
  sweepLimits,
  keepSteps,
  readSteps,
  endSteps,
  admitFlows,
  changeFlows,
  replace,
];
const READS = [find, attempts, expired, queues, counters, hourTimes, oldest, ahead, keyUse, readFlows];

const DIGEST_LENGTH = 8;

export function functionSet(texts: readonly FunctionText[]): FunctionSet {
  const all = texts.map((text) => text("s", "d")).join("\n");
  return { digest: createHash("sha256").update(all).digest("hex").slice(0, DIGEST_LENGTH), texts };
}

/** The functions of this version. */
export const FUNCTIONS: FunctionSet = functionSet([...WRITES, ...READS, ...LISTS]);

/** The function names up to schema version 5. The row `functions` stands for that set. */
const NAMES_WITHOUT_DIGEST = `enqueue admit free_keys exchange extend note change remove promote prune fold tick spend find attempts expired
  queues counters oldest ahead`.split(/\s+/);

/** The server's own time, even if a test sets the time of jobs. */
const SERVER_TIME = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** The first key of the lock for changes of a schema; the second is made from the schema's name. */
export const MIGRATION_LOCK = "hashtext('millrace.migrate')";

/** How often a process reports that it uses its functions. */
export const SAY_USED_EVERY_MS = HOUR_MS;
/** Functions are dropped after this long without a report. */
const UNUSED_MS = DAY_MS;

/** How long ago a process reported using this set; null if it is missing or incomplete, or if the function for users is older. */
export function usedAgo(schema: string, { digest, texts }: FunctionSet): string {
  const names = texts.map((text) => /function s\.(\w+)\(/.exec(text("s", digest))![1]!);
  return `(select ${SERVER_TIME} - value from ${schema}.meta where name = 'functions_${digest}' and ${names.length} = (
    select count(*) from pg_proc where pronamespace = '${schema}'::regnamespace and proname in ('${names.join("', '")}')) and not ${lacksSqlEnqueue(schema)})`;
}

/** Creates the functions; existing ones stay, because the same name means the same text. */
export function createFunctions(schema: string, { digest, texts }: FunctionSet): string {
  return [...texts.map((text) => text(schema, digest)), createSqlEnqueue(schema), setUsed(schema, `functions_${digest}`)].join("\n");
}

/** Has the functions without a digest dropped in a day. */
export const leaveWithoutDigest = (schema: string): string => setUsed(schema, "functions");

const setUsed = (schema: string, name: string): string => `
insert into ${schema}.meta values ('${name}', ${SERVER_TIME}) on conflict (name) do update set value = excluded.value;`;

/** Reports that the set is used. No row: it was dropped. */
export const sayUsed = (schema: string, digest: string): string =>
  `update ${schema}.meta set value = ${SERVER_TIME} where name = 'functions_${digest}' returning 1`;

/**
 * Drops other sets that nobody uses. One process at a time, and not while one creates functions. The schema may have functions of the user,
 * such as in `public`, maybe with the same names: ours are those whose parameters are named as we name them. A set that a user's view
 * needs, or that another role owns, stays.
 */
export const sweepFunctions = (schema: string, digest: string): string => `
do $$
declare
  v_set text;
  v_function regprocedure;
begin
  if not pg_try_advisory_xact_lock(${MIGRATION_LOCK}, hashtext('${schema}')) then return; end if;
  for v_set in select name from ${schema}.meta
    where name ~ '^functions(_[0-9a-f]{${DIGEST_LENGTH}})?$' and name <> 'functions_${digest}' and value < ${SERVER_TIME} - ${UNUSED_MS}
  loop
    begin
      -- A process that needs the set at this moment waits for the row, and then creates its functions again.
      delete from ${schema}.meta where name = v_set and value < ${SERVER_TIME} - ${UNUSED_MS};
      continue when not found;
      for v_function in
        select oid from pg_proc where pronamespace = '${schema}'::regnamespace and prokind = 'f'
          and case when v_set = 'functions' then proname in ('${NAMES_WITHOUT_DIGEST.join("', '")}')
            else right(proname, ${DIGEST_LENGTH + 1}) = right(v_set, ${DIGEST_LENGTH + 1}) end
          and proargnames is not null and not exists (select from unnest(proargnames) name where name !~ '^(p|out)_')
      loop
        execute format('drop function %s', v_function);
      end loop;
      if v_set = 'functions' then drop table if exists ${schema}.place; end if;
    exception when insufficient_privilege or dependent_objects_still_exist then null;
    end;
  end loop;
end $$;`;
