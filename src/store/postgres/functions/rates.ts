/** The arithmetic of core/rate.ts, in SQL: the same operations on doubles in the same order. */
import { CLOCK_STEP_MS, STEPS_A_MS } from "../../../core/rate.ts";

/** When all units are back by the present interval. */
export const busyBy = (busy: string, counted: string, interval: string, now: string): string =>
  `(case when coalesce(${busy}, 0) <= ${now} - ${CLOCK_STEP_MS} then ${now}::float8 when ${counted} = ${interval} then ${busy}
    else ${now} + ((${busy} - ${now}) / ${counted}) * ${interval} end)`;

/** When a start of this cost is free; null if it costs nothing, or there is no rate: then it has not to wait. */
export const freeAt = (busy: string, interval: string, burst: string, cost: string): string =>
  `(case when ${cost} > 0 then ${busy} - (${burst} - least(${cost}, ${burst})) * ${interval} end)`;

/** How long it has to wait; 0 if it may start now, or there is no rate. */
export const waitFor = (free: string, now: string): string =>
  `(case when ${free} > ${now} then greatest(1, ceil(${free} - ${now}))::bigint else 0 end)`;

/** The interval and the burst of a rate (jsonb), null if there is none. */
export const intervalOf = (rate: string): string =>
  `(ceil((${rate} ->> 'periodMs')::float8 / (${rate} ->> 'units')::float8 * ${STEPS_A_MS}) / ${STEPS_A_MS})`;
export const burstOf = (rate: string): string => `(${rate} ->> 'burst')::float8`;

/** A limit of a key: its own (jsonb, or null), or that of every key. */
export const ownOr = (own: string, name: string, type: "int" | "jsonb", usual: string): string =>
  `(case when ${own} ? '${name}' then ${type === "int" ? `(${own} ->> '${name}')::int` : `nullif(${own} -> '${name}', 'null')`} else ${usual} end)`;
