/**
 * ENQUEUE FROM SQL. `<schema>.enqueue(type, payload, options)` is for triggers and for any transaction of the application. It checks a job by the
 * rules of core/job-options.ts, whose texts and bounds it takes, and returns the job's id.
 *
 * Users write its name into their own functions, so it has no digest, and nothing that it calls is ever swept: its parts end in `_for_sql`.
 * The newest version of Millrace that opened the schema made it. A number in its comment tells which, so that an older version does not put
 * its own one back. A function of the user's with the same name and parameters has no such comment and is left alone.
 *
 * All is written in the caller's transaction: a NOTIFY, because nobody watches for its commit; the number of a new queue or lane; and the
 * end of an expired key. So others who use the same new name or key wait for the commit, and nobody else does.
 */
import { type AttemptOption, MAX_RETRIES, MAX_TIMEOUT_MS } from "../../../core/attempt-options.ts";
import { DURATION, MAX_DELAY_MS, UNIT_MS } from "../../../core/duration.ts";
import { MAX_FIELD_VALUE_LENGTH } from "../../../core/facets.ts";
import { INTERNAL_TYPES } from "../../../core/internal.ts";
import { MAX_PRIORITY, MIN_PRIORITY, PRIORITY_LEVELS, USUAL_JOB, usualMaxLost } from "../../../core/job.ts";
import { JOB_DEFAULTS, JOB_OPTIONS, MAX_KEY_BYTES, MAX_TAG_LENGTH, MAX_TAGS, MAX_URL_LENGTH } from "../../../core/job-options.ts";
import { MAX_COST, MAX_LIMIT_KEY_BYTES } from "../../../core/limits.ts";
import { MAX_JSON_DEPTH, MAX_META_BYTES, MAX_PAYLOAD_BYTES } from "../../../core/json.ts";
import { FNV_PRIME, FNV_START, PARTITIONS } from "../../../core/partition.ts";
import { QUEUE_SETTINGS, type SettingValue } from "../../../core/queue.ts";
import { EARLIEST_RUN_AT, NAME, NAME_RULE, RESERVED_TYPE_RULE } from "../../../core/read-fields.ts";
import { RETRY_CAP_MS } from "../../../core/retry.ts";
import { withoutDate } from "../../../core/time-words.ts";
import { STATE } from "../../numbers.ts";
import { ADMITTED } from "../answers.ts";
import { KEYED_MARK } from "../lines.ts";
import { DUE, WORK } from "../notifications.ts";
import { canonicalJson, canonicalNumber } from "./canonical-json.ts";
import { admit, isFreeKey } from "./insert.ts";

/** Raise it with every released change of these texts; a test pins them. */
export const SQL_ENQUEUE_VERSION = 4;

/** The error classes of the function. */
const SQLSTATE = { invalid_input: "MR001", key_conflict: "MR002", queue_full: "MR003" } as const;
const TRY_AGAIN = "40001";
const MOST_TRIES = 5;

const FOR_SQL = "for_sql";
const COMMENT = "Enqueues a job of Millrace. Version ";

type OptionName = keyof typeof JOB_OPTIONS;

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const literal = (value: SettingValue): string => (typeof value === "string" ? quoted(value) : String(value));

/** Whether the function is missing, or an older version made it. */
export const lacksSqlEnqueue = (s: string): string => `coalesce((
  select coalesce(substring(obj_description(oid, 'pg_proc') from '^${COMMENT}([0-9]+)$')::int, ${SQL_ENQUEUE_VERSION}) < ${SQL_ENQUEUE_VERSION}
  from pg_proc where oid = to_regprocedure('${s}.enqueue(text, jsonb, jsonb)')), true)`;

/** Creates the function with its parts if this version's is newer than the one that is there. */
export const createSqlEnqueue = (s: string): string => `
do $do$ begin
  if ${lacksSqlEnqueue(s)} then
    execute $texts$${sqlEnqueueTexts(s)}$texts$;
  end if;
end $do$;`;

export const sqlEnqueueTexts = (s: string): string =>
  [
    admit(s, FOR_SQL),
    ...[refuse, whole, duration, time, json, field, canonicalNumber, canonicalJson, partition, enqueue].map((text) => text(s)),
    `comment on function ${s}.enqueue(text, jsonb, jsonb) is '${COMMENT}${SQL_ENQUEUE_VERSION}';`,
  ].join("\n");

// ── Refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const raise = (code: keyof typeof SQLSTATE, column: string, message: string, hint: string): string =>
  `raise exception using errcode = '${SQLSTATE[code]}', message = ${message}, column = ${column}, detail = '${code}', hint = ${quoted(hint)}`;

const OPTIONS_HINT = 'The section "From SQL" of docs/transactions.md has all options.';

/** Characters that would break a message, as in core/errors.ts. */
const UNPRINTABLE = String.raw`[\u0001-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]`;
const PREVIEW_LENGTH = 80;

const refuse = (s: string): string => `
create or replace function ${s}.refuse_for_sql(p_field text, p_must_be text, p_got jsonb) returns void language plpgsql as $$
declare
  v_got text := case coalesce(jsonb_typeof(p_got), 'null')
    when 'string' then '"' || (p_got #>> '{}') || '"'
    when 'array' then 'an array of ' || jsonb_array_length(p_got)
    when 'object' then 'an object'
    else coalesce(p_got #>> '{}', 'null') end;
begin
  v_got := regexp_replace(v_got, '${UNPRINTABLE}', U&'\\FFFD', 'g');
  if char_length(v_got) > ${PREVIEW_LENGTH} then v_got := left(v_got, ${PREVIEW_LENGTH}) || U&'\\2026'; end if;
  ${raise("invalid_input", "p_field", "format('%s must be %s; got %s', p_field, p_must_be, v_got)", OPTIONS_HINT)};
end $$;`;

// ── Values of options: null if they are not valid ────────────────────────────────────────────────────────────────────────────────────────

const whole = (s: string): string => `
create or replace function ${s}.whole_for_sql(p_value jsonb, p_min bigint, p_max bigint) returns bigint language plpgsql immutable as $$
declare
  v_number numeric;
begin
  if jsonb_typeof(p_value) is distinct from 'number' then return null; end if;
  v_number := (p_value #>> '{}')::numeric;
  return case when v_number = trunc(v_number) and v_number between p_min and p_max then v_number end;
end $$;`;

const duration = (s: string): string => `
create or replace function ${s}.duration_for_sql(p_value jsonb, p_max bigint) returns bigint language plpgsql immutable as $$
declare
  v_parts text[];
begin
  if jsonb_typeof(p_value) is distinct from 'string' then return ${s}.whole_for_sql(p_value, 0, p_max); end if;
  v_parts := regexp_match(p_value #>> '{}', '${DURATION.source}');
  if v_parts is null then return null; end if;
  return ${s}.whole_for_sql(to_jsonb((v_parts[1] || '.' || coalesce(v_parts[2], '0'))::numeric
    * (case v_parts[3] ${[...UNIT_MS].map(([unit, ms]) => `when '${unit}' then ${ms}`).join(" ")} end)), 0, p_max);
end $$;`;

/** ISO 8601: year, month, day, hour, minute, second, fraction, sign and hours and minutes of the zone. As JavaScript, it takes 24:00. */
const ISO =
  "^([1-9][0-9]{3})-(0[1-9]|1[0-2])-([0-3][0-9])T([01][0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9])(?:[.]([0-9]{1,9}))?)?(?:Z|([+-])([01][0-9]|2[0-3]):?([0-5][0-9]))$";

const time = (s: string): string => `
create or replace function ${s}.time_for_sql(p_value jsonb, p_max bigint) returns bigint language plpgsql immutable as $$
declare
  v_parts text[];
  v_first date;
  v_in_day bigint;
begin
  if jsonb_typeof(p_value) is distinct from 'string' then return ${s}.whole_for_sql(p_value, ${EARLIEST_RUN_AT}, p_max); end if;
  v_parts := regexp_match(p_value #>> '{}', '${ISO}', 'i');
  if v_parts is null then return null; end if;
  v_first := make_date(v_parts[1]::int, v_parts[2]::int, 1);
  v_in_day := v_parts[4]::int * 3600000 + v_parts[5]::int * 60000 + coalesce(v_parts[6], '0')::int * 1000
    + rpad(left(coalesce(v_parts[7], '0'), 3), 3, '0')::int;
  if v_parts[3]::int = 0 or v_parts[3]::int > extract(day from v_first + interval '1 month - 1 day') or v_in_day > 86400000 then return null; end if;
  return ${s}.whole_for_sql(to_jsonb((v_first - date '1970-01-01' + v_parts[3]::int - 1)::bigint * 86400000 + v_in_day
    - (case v_parts[8] when '-' then -1 else 1 end) * (coalesce(v_parts[9], '0')::int * 60 + coalesce(v_parts[10], '0')::int) * 60000),
    ${EARLIEST_RUN_AT}, p_max);
end $$;`;

// ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** From here on a number rounds to an infinite double. */
const INFINITE = (2n ** 1024n - 2n ** 970n).toString();
const TOO_DEEP = `strict $.**{${MAX_JSON_DEPTH}} ? (@.type() == "object" || @.type() == "array")`;
const TOO_LARGE = `strict $.** ? (@.type() == "number" && (@ >= ${INFINITE} || @ <= -${INFINITE}))`;

/** The text of a value, or a refusal if the client would refuse it. */
const json = (s: string): string => `
create or replace function ${s}.json_for_sql(p_field text, p_value jsonb, p_max_bytes int) returns text language plpgsql as $$
declare
  v_text text := p_value::text;
begin
  if octet_length(v_text) > p_max_bytes then
    ${raise("invalid_input", "p_field", "format('%s must be at most %s bytes of JSON; got %s', p_field, p_max_bytes, octet_length(v_text))", OPTIONS_HINT)};
  end if;
  if jsonb_path_exists(p_value, '${TOO_DEEP}') then
    ${raise("invalid_input", "p_field", `format('%s must not nest deeper than ${MAX_JSON_DEPTH} levels, nor contain itself', p_field)`, OPTIONS_HINT)};
  end if;
  if jsonb_path_exists(p_value, '${TOO_LARGE}') then
    ${raise("invalid_input", "p_field", "format('%s must have no number that is too large for a double', p_field)", OPTIONS_HINT)};
  end if;
  return v_text;
end $$;`;

/** The length of a text as JavaScript counts it. */
const lengthOf = (text: string): string => String.raw`char_length(regexp_replace(${text}, '[\U00010000-\U0010ffff]', '..', 'g'))`;

/** As encodeText in codec.ts. jsonb has neither U+0000 nor lone surrogates. */
const encoded = (text: string): string => `(case when starts_with(${text}, chr(1)) then chr(1) || to_json(${text})::text else ${text} end)`;

/** As fieldIn in core/facets.ts. */
const field = (s: string): string => `
create or replace function ${s}.field_for_sql(p_payload jsonb, p_field text) returns text language plpgsql immutable as $$
declare
  v_name text;
  v_value text;
begin
  foreach v_name in array string_to_array(p_field, '.') loop
    p_payload := p_payload -> v_name;
  end loop;
  if p_payload is null or jsonb_typeof(p_payload) not in ('string', 'number', 'boolean') then return null; end if;
  v_value := p_payload #>> '{}';
  return case when v_value <> '' and ${lengthOf("v_value")} <= ${MAX_FIELD_VALUE_LENGTH} then v_value end;
end $$;`;

/** As partitionOf in core/partition.ts. Names are ASCII. */
const partition = (s: string): string => `
create or replace function ${s}.partition_for_sql(p_queue text) returns int language plpgsql immutable as $$
declare
  v_hash bigint := ${FNV_START};
begin
  for v_at in 1 .. length(p_queue) loop
    v_hash := ((v_hash # ascii(substr(p_queue, v_at, 1))) * ${FNV_PRIME}) & 4294967295;
  end loop;
  return ((v_hash >> 22) # v_hash) & ${PARTITIONS - 1};
end $$;`;

// ── The function ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const OPTION_NAMES = Object.keys(JOB_OPTIONS) as OptionName[];

const option = (name: OptionName): string => `v_options -> '${name}'`;
const isString = (name: OptionName): string => `jsonb_typeof(${option(name)}) = 'string'`;

/** Refuses an option that is given, unless this holds. */
const check = (s: string, name: OptionName, condition: string, mustBe: string = withoutDate(JOB_OPTIONS[name].mustBe)): string => `
  if v_options ? '${name}' and (${condition}) is not true then
    perform ${s}.refuse_for_sql('${name}', ${quoted(mustBe)}, ${option(name)});
  end if;`;

/** An option that a function reads, in a variable; null if it is not given. */
const read = (s: string, variable: string, name: OptionName, reader: string, ...bounds: (number | string)[]): string =>
  `
  ${variable} := ${s}.${reader}(${[option(name), ...bounds].join(", ")});${check(s, name, `${variable} is not null`)}`;

/**
 * A URL that is already in the form in which the client would store it. The last label of the host begins with a letter, because a number there
 * makes it an address; and no path segment is . or .. in any spelling.
 */
const PLAIN_URL = String.raw`^https?://(?!([a-z0-9-]*[.])*xn--)([a-z0-9]([a-z0-9-]*[a-z0-9])?[.])*[a-z]([a-z0-9-]*[a-z0-9])?(:[1-9][0-9]{0,4})?/([A-Za-z0-9._~!$&()*+,;=:@/-]|%[0-9A-Fa-f]{2})*([?]([A-Za-z0-9._~!$&()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$`;
const DOT_SEGMENT = "/([.]|%2e){1,2}(/|[?]|$)";
const USUAL_PORT = "^(http://[^/]*:80|https://[^/]*:443)/";
const URL_RULE = `an http or https URL of at most ${MAX_URL_LENGTH} characters, with a host name in lower case, a path, and no usual port, "." segment or fragment`;
const urlCondition = (
  url: string,
): string => `length(${url}) <= ${MAX_URL_LENGTH} and ${url} ~ '${PLAIN_URL}' and ${url} !~* '${DOT_SEGMENT}'
    and ${url} !~ '${USUAL_PORT}' and coalesce(substring(${url} from '^https?://[^/]*:([0-9]+)/')::int <= 65535, true)`;

/** The value for an option of ATTEMPT_OPTIONS: of the call, then of the queue, then the usual one. */
const chosen = (given: string, name: AttemptOption, type: string, usual: string): string =>
  `coalesce(${given}, (v_defaults ->> '${name}')::${type}, ${usual})`;

const enqueue = (s: string): string => `
create or replace function ${s}.enqueue(type text, payload jsonb default null, options jsonb default '{}') returns text language plpgsql as $$
#variable_conflict use_column
declare
  v_type text := $1;
  v_payload jsonb := coalesce($2, 'null');
  v_options jsonb := coalesce($3, '{}');
  v_micros bigint := floor(extract(epoch from clock_timestamp()) * 1000000);
  v_now bigint := v_micros / 1000;
  v_name text;
  v_queue text;
  v_queue_id int;
  v_lane int;
  v_declared jsonb;
  v_defaults jsonb;
  v_priority smallint;
  v_delay bigint;
  v_run_at bigint;
  v_max_retries smallint;
  v_max_lost smallint;
  v_retry_delay bigint;
  v_timeout bigint;
  v_key text;
  v_key_ttl bigint;
  v_fingerprint text;
  v_tags text[];
  v_meta text;
  v_extra text;
  v_payload_text text;
  v_facets text;
  v_limit_key text;
  v_cost int;
  v_start_within bigint;
  v_lane_type text;
  v_random text := replace(gen_random_uuid()::text, '-', '');
  v_id uuid;
  v_answer record;
begin
  if (v_type ~ '${NAME.source}') is not true then perform ${s}.refuse_for_sql('type', ${quoted(NAME_RULE)}, to_jsonb(v_type)); end if;
  if starts_with(v_type, '${INTERNAL_TYPES}') then perform ${s}.refuse_for_sql('type', ${quoted(RESERVED_TYPE_RULE)}, to_jsonb(v_type)); end if;
  if jsonb_typeof(v_options) <> 'object' then perform ${s}.refuse_for_sql('options', 'an object', v_options); end if;
  select key into v_name from jsonb_object_keys(v_options) o(key) where key <> all('{${OPTION_NAMES.join()}}') limit 1;
  if found then
    ${raise("invalid_input", "v_name", `format('%s is not a job option; known options: ${OPTION_NAMES.join(", ")}', v_name)`, OPTIONS_HINT)};
  end if;
  ${check(s, "queue", `${isString("queue")} and v_options ->> 'queue' ~ '${NAME.source}'`)}
  v_queue := coalesce(v_options ->> 'queue', '${JOB_DEFAULTS.queue}');
  v_priority := case jsonb_typeof(${option("priority")})
    when 'string' then ('${JSON.stringify(PRIORITY_LEVELS)}'::jsonb ->> (v_options ->> 'priority'))::smallint
    else ${s}.whole_for_sql(${option("priority")}, ${MIN_PRIORITY}, ${MAX_PRIORITY}) end;${check(s, "priority", "v_priority is not null")}
  ${read(s, "v_delay", "delay", "duration_for_sql", MAX_DELAY_MS)}
  ${read(s, "v_run_at", "runAt", "time_for_sql", `v_now + ${MAX_DELAY_MS}`)}
  if v_delay is not null and v_run_at is not null then
    ${raise("invalid_input", "'runAt'", "'runAt and delay cannot be combined: give only one of them'", OPTIONS_HINT)};
  end if;
  ${read(s, "v_max_retries", "maxRetries", "whole_for_sql", 0, MAX_RETRIES)}
  ${read(s, "v_max_lost", "maxLost", "whole_for_sql", 0, MAX_RETRIES)}
  ${read(s, "v_retry_delay", "retryDelay", "duration_for_sql", RETRY_CAP_MS)}
  ${check(s, "backoff", `${isString("backoff")} and v_options ->> 'backoff' ~ '${NAME.source}'`)}
  ${read(s, "v_timeout", "timeout", "duration_for_sql", MAX_TIMEOUT_MS)}
  ${check(s, "idempotencyKey", `${isString("idempotencyKey")} and octet_length(v_options ->> 'idempotencyKey') between 1 and ${MAX_KEY_BYTES}`)}
  ${read(s, "v_key_ttl", "keyTtl", "duration_for_sql", MAX_DELAY_MS)}
  ${check(
    s,
    "tags",
    `case when jsonb_typeof(${option("tags")}) = 'array' then jsonb_array_length(${option("tags")}) <= ${MAX_TAGS} and not exists (
      select from jsonb_array_elements(${option("tags")}) t(tag) where jsonb_typeof(tag) <> 'string' or tag #>> '{}' = '' or ${lengthOf("tag #>> '{}'")} > ${MAX_TAG_LENGTH}) end`,
  )}
  ${check(s, "limitKey", `${isString("limitKey")} and octet_length(v_options ->> 'limitKey') between 1 and ${MAX_LIMIT_KEY_BYTES}`)}
  ${read(s, "v_cost", "cost", "whole_for_sql", 1, MAX_COST)}
  ${read(s, "v_start_within", "startWithin", "duration_for_sql", MAX_DELAY_MS)}${check(s, "startWithin", "v_start_within > 0")}
  v_limit_key := ${encoded("(v_options ->> 'limitKey')")};
  v_lane_type := case when v_limit_key is null then v_type else v_type || '${KEYED_MARK}' end;
  ${check(s, "meta", `jsonb_typeof(${option("meta")}) = 'object'`)}
  ${check(s, "webhookUrl", `${isString("webhookUrl")} and ${urlCondition("(v_options ->> 'webhookUrl')")}`, URL_RULE)}
  v_payload_text := ${s}.json_for_sql('payload', v_payload, ${MAX_PAYLOAD_BYTES});
  v_meta := ${s}.json_for_sql('meta', ${option("meta")}, ${MAX_META_BYTES});
  if v_options ? 'tags' then
    v_tags := nullif(array(select ${encoded("t.tag")} from (select tag, min(ord) as ord from jsonb_array_elements_text(${option("tags")}) with ordinality e(tag, ord)
      group by tag) t order by t.ord), '{}');
  end if;
  if v_options ? 'idempotencyKey' then
    v_key := ${encoded("(v_options ->> 'idempotencyKey')")};
    v_key_ttl := coalesce(v_key_ttl, ${JOB_DEFAULTS.keyTtl});
    v_fingerprint := translate(rtrim(encode(sha256(convert_to(v_type || chr(10) || ${s}.canonical_for_sql(v_payload), 'UTF8')), 'base64'), '='), '+/', '-_');
  end if;

  select id, facets, job_defaults into v_queue_id, v_declared, v_defaults from ${s}.queue where name = v_queue;
  if not found then
    insert into ${s}.queue (name, ${QUEUE_SETTINGS.map(({ column }) => column).join(", ")})
    values (v_queue, ${QUEUE_SETTINGS.map(({ usual }) => literal(usual)).join(", ")}) on conflict do nothing;
    select id, facets, job_defaults into v_queue_id, v_declared, v_defaults from ${s}.queue where name = v_queue;
  end if;
  v_priority := coalesce(v_priority, ${JOB_DEFAULTS.priority});
  select id into v_lane from ${s}.lane where queue = v_queue_id and type = v_lane_type and priority = v_priority;
  if not found then
    insert into ${s}.lane (id, queue, type, priority)
    values (nextval('${s}.lane_id_seq') * case when v_limit_key is null then 1 else -1 end, v_queue_id, v_lane_type, v_priority) on conflict do nothing;
    select id into v_lane from ${s}.lane where queue = v_queue_id and type = v_lane_type and priority = v_priority;
  end if;

  v_max_retries := ${chosen("v_max_retries", "maxRetries", "smallint", String(USUAL_JOB.maxRetries))};
  v_max_lost := ${chosen("v_max_lost", "maxLost", "smallint", `case when v_max_retries = 0 then ${usualMaxLost(0)} else ${usualMaxLost(1)} end`)};
  v_extra := nullif(json_strip_nulls(json_build_object('meta', v_meta, 'webhookUrl', v_options ->> 'webhookUrl',
    'backoff', nullif(${chosen("v_options ->> 'backoff'", "backoff", "text", "null")}, '${USUAL_JOB.backoff}'),
    'limitKey', v_limit_key, 'cost', nullif(v_cost, ${JOB_DEFAULTS.cost}), 'startWithinMs', v_start_within))::text, '{}');
  select '{' || string_agg(to_json(f.name)::text || ':' || to_json(f.value)::text, ',' order by f.name collate "C") || '}' into v_facets
  from (select d ->> 0 as name, ${s}.field_for_sql(v_payload, d ->> 0) as value from jsonb_array_elements(v_declared) e(d)) f where f.value is not null;
  -- A UUIDv7 as in lib/id.ts. In place of a counter it has the fraction of the millisecond.
  v_id := lpad(to_hex(v_now), 12, '0') || '7' || lpad(to_hex(v_micros % 1000 * 4096 / 1000), 3, '0')
    || left(to_hex(32768 | (${s}.partition_for_sql(v_queue) << 4)), 3) || left(v_random, 1) || right(v_random, 12);

  for v_try in 1 .. ${MOST_TRIES} loop
    if v_key is not null then
      delete from ${s}.key k where k.queue = v_queue_id and k.key = v_key and ${isFreeKey(s, "k")};
    end if;
    select * into v_answer from ${s}.admit_${FOR_SQL}(null, false, false, array[v_id], array[v_queue_id], array[v_lane], array[v_priority],
      array[coalesce(v_delay, 0)], array[v_run_at], array[v_max_retries], array[v_max_lost],
      array[${chosen("v_retry_delay", "retryDelay", "bigint", String(USUAL_JOB.retryDelay))}],
      array[${chosen("v_timeout", "timeout", "bigint", String(USUAL_JOB.timeout))}],
      array[v_tags::text], array[v_extra], array[v_payload_text], array[v_key], array[case when v_key is not null then v_key_ttl end], array[v_fingerprint],
      null, case when v_facets is not null then array[v_facets] end);
    exit when v_answer.out_kind <> ${ADMITTED.overtaken};
  end loop;

  case v_answer.out_kind
    when ${ADMITTED.created} then
      perform pg_notify('${s}', 'sql ' || case when v_answer.out_state = ${STATE.pending} then '${WORK}' || v_queue
        else '${DUE}' || (v_answer.out_run_at - v_answer.out_created_at) end);
      return v_id::text;
    when ${ADMITTED.knownKey}, ${ADMITTED.pruned} then
      return v_answer.out_holder::text;
    when ${ADMITTED.conflict} then
      ${raise("key_conflict", "'idempotencyKey'", "format('idempotencyKey \"%s\" belongs to job %s, which has a different type or payload', v_options ->> 'idempotencyKey', v_answer.out_holder)", "Use another key, or the same type and payload.")};
    when ${ADMITTED.full} then
      ${raise("queue_full", "'queue'", "format('queue %s is full: its capacity of %s is reached; try again later', v_queue, v_answer.out_run_at)", "Roll back, and try again when workers have made room.")};
    when ${ADMITTED.fullKey} then
      ${raise("queue_full", "'limitKey'", "format('limit key %s of queue %s has %s waiting jobs, which is its limit; try again later', v_options ->> 'limitKey', v_queue, v_answer.out_run_at)", "Roll back, and try again when workers have made room.")};
    else
      raise exception using errcode = '${TRY_AGAIN}', message = 'other transactions kept taking and freeing the idempotency key. Try again';
  end case;
end $$;`;
