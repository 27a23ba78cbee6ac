/** Allowances that all processes share. */
import { SHARE, SLACK } from "../../../core/allowance.ts";
import { NOW, PLANNED, SHORT_LOCK_TIMEOUT } from "./snippets.ts";

/**
 * In: names, units, and the times in which they come back. Out: for each, in order, what was taken and how long to wait, as takeShare in
 * core/allowance.ts defines. Rows are locked in the order of their names, so that two calls never wait for each other.
 */
export const spend = (s: string, digest: string): string => `
create or replace function ${s}.spend_${digest}(p_now bigint, p_names text[], p_units float8[], p_times float8[]) returns float8[] ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now float8 := ${NOW};
  v_answers float8[] := array_fill(0::float8, array[2 * cardinality(p_names)]);
  v_ask record;
  v_interval float8;
  v_from float8;
  v_left float8;
  v_taken float8;
begin
  ${SHORT_LOCK_TIMEOUT};
  for v_ask in
    select i.name, i.units, i.per, i.ord::int as ord from unnest(p_names, p_units, p_times) with ordinality i(name, units, per, ord)
    order by i.name collate "C", i.ord
  loop
    v_interval := v_ask.per / v_ask.units;
    insert into ${s}.allowance values (v_ask.name, v_now)
    on conflict (name) do update set free_at = least(greatest(allowance.free_at, v_now), v_now + v_ask.per) returning free_at into v_from;
    v_left := floor((v_now + v_ask.per - v_from) / v_interval + ${SLACK});
    if v_left < 1 then
      v_answers[2 * v_ask.ord] := greatest(1, ceil(v_from + v_interval - v_ask.per - v_now));
    else
      v_taken := greatest(1, floor(v_left / ${SHARE}));
      update ${s}.allowance set free_at = v_from + v_taken * v_interval where name = v_ask.name;
      v_answers[2 * v_ask.ord - 1] := v_taken;
    end if;
  end loop;
  return v_answers;
end $$;`;
