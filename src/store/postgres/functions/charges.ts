/** What settlements say of rates and limit keys: units that a run used or gave back, and holds. */
import { NO_KEY } from "../lines.ts";
import { intervalOf, ownOr } from "./rates.ts";
import { byKey } from "./snippets.ts";
import { costIn, keyIn } from "./turns.ts";

/** Only in the JSON of a settlement that says something of rates or limit keys. */
export const LIMIT_USES = '"uses_limits":';

/**
 * What settlements that were applied say of rates and limit keys (`v_free`: those whose claims took no units). They are only noted: a claim adds them up under the lock of the key. Without a
 * rate there is nothing to note. A line that waits for the rate is looked at again.
 */
export const charge = (s: string, others: string): string => `
  with used as materialized (
    select l.queue, ${keyIn("j.extra")} as key, coalesce(i.spend, 0) - case when i.unstarted and i.ord <> all(v_free) then ${costIn("j.extra")} else 0 end as units, v_now + i.hold as held_until,
      q.limits::jsonb as limits
    from ${others} join ${s}.job j on ${byKey("j.id", "i.id")} join ${s}.lane l on l.id = j.lane join ${s}.queue q on q.id = l.queue
    where i.ord = any(v_others) and (i.unstarted or i.hold is not null or i.spend is not null)
  )
  , rechecked as (insert into ${s}.limit_recheck (queue, key) select distinct queue, key from used where key is not null)
  insert into ${s}.limit_charge (queue, key, at, units, interval_ms, held_until)
  select * from (
    select queue, '${NO_KEY}', v_now, units, ${intervalOf("(limits -> 'rate')")} as interval_ms, null::bigint as held_until from used
    union all
    select u.queue, u.key, v_now, u.units, ${intervalOf(ownOr("k.own::jsonb", "rate", "jsonb", "nullif(u.limits -> 'perKey' -> 'rate', 'null')"))}, u.held_until
    from used u left join ${s}.limit_key k on k.queue = u.queue and k.key = u.key where u.key is not null
  ) c where (units <> 0 and interval_ms is not null) or held_until is not null`;
