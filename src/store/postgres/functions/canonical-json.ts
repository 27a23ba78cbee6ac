/**
 * CANONICAL JSON IN SQL, as core/unique.ts writes it: one text for equal values, so that the fingerprint of a job with an idempotency key is the
 * same from SQL and from a client.
 */

/** How many digits a number has, without zeros at its ends. */
const digitsOf = (number: string): string => `length(trim('0' from replace(${number}::text, '.', '')))`;

/**
 * A number as core/unique.ts writes it: as JavaScript prints the double if that prints the exact value, otherwise by digits and power of ten.
 * JavaScript prints the shortest number that reads as the double. PostgreSQL leaves out those halfway between two doubles: then it prints more
 * digits than the given number has.
 */
export const canonicalNumber = (s: string): string => `
create or replace function ${s}.number_for_sql(p_number numeric) returns text language plpgsql immutable set extra_float_digits = 1 as $$
declare
  v_sign text := case when p_number < 0 then '-' else '' end;
  v_text text := abs(p_number)::text;
  v_digits text := ltrim(replace(v_text, '.', ''), '0');
  v_power int := length(v_digits) - length(rtrim(v_digits, '0')) - length(split_part(v_text, '.', 2));
  v_point int;
  v_printed numeric;
begin
  if p_number = 0 then return '0'; end if;
  v_digits := rtrim(v_digits, '0');
  v_point := length(v_digits) + v_power;
  -- Below this the double is 0, and the cast would fail.
  v_printed := case when abs(p_number) < 2.5e-324 then 0 else abs(p_number)::float8::text::numeric end;
  if v_printed <> abs(p_number) and length(v_digits) >= ${digitsOf("v_printed")} then return v_sign || v_digits || 'e' || v_power; end if;
  return v_sign || case
    when v_power >= 0 and v_point <= 21 then v_digits || repeat('0', v_power)
    when v_point between 1 and 21 then left(v_digits, v_point) || '.' || substr(v_digits, v_point + 1)
    when v_point between -5 and 0 then '0.' || repeat('0', -v_point) || v_digits
    else left(v_digits, 1) || case when length(v_digits) > 1 then '.' || substr(v_digits, 2) else '' end
      || 'e' || case when v_point > 0 then '+' else '-' end || abs(v_point - 1) end;
end $$;`;

/**
 * Texts in this order are in the order of JavaScript, by UTF-16 units: characters that take four bytes of UTF-8 come before those whose first
 * byte is ee or ef.
 */
const utf16Order = (text: string): string =>
  String.raw`replace(replace(regexp_replace(encode(convert_to(${text}, 'UTF8'), 'hex'), '..', 'x\&', 'g'), 'xee', 'xy'), 'xef', 'xz') collate "C"`;

/** As canonicalText in core/unique.ts. */
export const canonicalJson = (s: string): string => `
create or replace function ${s}.canonical_for_sql(p_value jsonb) returns text language plpgsql immutable as $$
begin
  return case jsonb_typeof(p_value)
    when 'object' then '{' || coalesce((select string_agg(to_json(e.key)::text || ':' || ${s}.canonical_for_sql(e.value), ','
      order by ${utf16Order("e.key")}) from jsonb_each(p_value) e), '') || '}'
    when 'array' then '[' || coalesce((select string_agg(${s}.canonical_for_sql(e.value), ',' order by e.ord)
      from jsonb_array_elements(p_value) with ordinality e(value, ord)), '') || ']'
    when 'number' then ${s}.number_for_sql((p_value #>> '{}')::numeric)
    else p_value::text end;
end $$;`;
