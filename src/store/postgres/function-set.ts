/**
 * FUNCTIONS ARE CODE. Each verb is one call of a function: one round trip and one commit whatever it has to look at on its way. The server keeps
 * their plans without prepared statements, which a transaction pooler would lose, and a caller's own transaction can call them through any driver.
 *
 * All functions of a Millrace are one set. The digest of their texts is a suffix of every name: `millrace.exchange_1a2b3c4d`. So a change of a
 * text is a new set beside the old one, and processes of both work on the same tables. The row `functions_<digest>` of `meta` says when a
 * process last used a set.
 *
 *   missing ─→ used      a process that needs it opens the store, or meets a call that fails for want of it
 *   used ─→ missing      no process said for a day that it uses it: `sweep` drops it
 */
import { createHash } from "node:crypto";
import { DAY_MS, HOUR_MS } from "../../core/time-units.ts";
import { spend } from "./functions/allowance.ts";
import { exchange } from "./functions/exchange.ts";
import { admit, enqueue, freeKeys } from "./functions/insert.ts";
import { extend, note } from "./functions/leases.ts";
import { change, remove } from "./functions/manage.ts";
import { attempts, counters, expired, find, queues } from "./functions/reads.ts";
import { fold, promote, prune, tick } from "./functions/upkeep.ts";
import { ahead, oldest } from "./functions/waiting.ts";

type FunctionText = (schema: string, digest: string) => string;

export interface FunctionSet {
  readonly digest: string;
  readonly texts: readonly FunctionText[];
}

const WRITES = [enqueue, admit, freeKeys, exchange, extend, note, change, remove, promote, prune, fold, tick, spend];
const READS = [find, attempts, expired, queues, counters, oldest, ahead];

const DIGEST_LENGTH = 8;

export function functionSet(texts: readonly FunctionText[]): FunctionSet {
  const all = texts.map((text) => text("s", "d")).join("\n");
  return { digest: createHash("sha256").update(all).digest("hex").slice(0, DIGEST_LENGTH), texts };
}

/** The functions of this Millrace. */
export const FUNCTIONS: FunctionSet = functionSet([...WRITES, ...READS]);

/** The names that the functions had until version 5 of the schema. Their set is the row `functions`: it came with the upgrade. */
const NAMES_WITHOUT_DIGEST = `enqueue admit free_keys exchange extend note change remove promote prune fold tick spend find attempts expired
  queues counters oldest ahead`.split(/\s+/);

/** The server's own time, also where a test rules that of jobs. */
const SERVER_TIME = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** The first key of the lock that who makes or drops something of a schema has; the second is of the schema's name. */
export const MIGRATION_LOCK = "hashtext('millrace.migrate')";

/** How often a process says that it uses its functions. */
export const SAY_USED_EVERY_MS = HOUR_MS;
/** How long nobody has to have said it before they are dropped. */
const UNUSED_MS = DAY_MS;

/** How long ago somebody said that this set is used; null if it is not there, or not whole. */
export function usedAgo(schema: string, { digest, texts }: FunctionSet): string {
  const names = texts.map((text) => /function s\.(\w+)\(/.exec(text("s", digest))![1]!);
  return `(select ${SERVER_TIME} - value from ${schema}.meta where name = 'functions_${digest}' and ${names.length} = (
    select count(*) from pg_proc where pronamespace = '${schema}'::regnamespace and proname in ('${names.join("', '")}')))`;
}

/** Makes the functions; those that are there already stay as they are, because the same name is the same text. */
export function makeFunctions(schema: string, { digest, texts }: FunctionSet): string {
  return [...texts.map((text) => text(schema, digest)), setUsed(schema, `functions_${digest}`)].join("\n");
}

/** A day from now the functions without a digest are dropped, too. */
export const leaveWithoutDigest = (schema: string): string => setUsed(schema, "functions");

const setUsed = (schema: string, name: string): string => `
insert into ${schema}.meta values ('${name}', ${SERVER_TIME}) on conflict (name) do update set value = excluded.value;`;

/** Says that the set is used. No row: it was dropped. */
export const sayUsed = (schema: string, digest: string): string =>
  `update ${schema}.meta set value = ${SERVER_TIME} where name = 'functions_${digest}' returning 1`;

/**
 * Drops sets that nobody uses any more, but its own. One process at a time, and not while one makes functions. The schema may be one that the user
 * has functions of their own in, such as `public`, maybe of the same names: ours are those whose parameters are named as we name them. A set
 * that a view of the user's needs, or that another role owns, stays.
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
      -- One that comes back at this moment waits for the row, and then makes its functions anew.
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
