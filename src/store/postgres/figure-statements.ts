/** The SQL texts that say how many jobs and queues there are, from figures alone. The comment above each has its inputs, in order. */
import { isKept } from "./list-statements.ts";

export type FigureStatements = ReturnType<typeof statements>;

/** The statements on the tables of one schema. */
export function figures(s: string): FigureStatements {
  return statements(s);
}

const statements = (s: string) => ({
  /** In: tallies, queue (null: all), names of queues to leave out. Out: how many jobs there are, and in how many queues. */
  countEnded: `select coalesce(sum(amount), 0)::bigint, count(*) from (
      select queue, sum(amount) as amount from (
        select queue, metric, amount from ${s}.tally
        union all select queue, metric, amount from ${s}.cell
      ) cells where metric = any($1::smallint[])
        and ($2::text is null or queue = (select id from ${s}.queue where name = $2))
        and ${isKept(s, "$3", "queue")} group by queue
    ) queues where amount > 0`,
  /** In: queue (null: any), names of queues to leave out. Out: how many queues there are. */
  countQueues: `select count(*) from ${s}.queue q where ($1::text is null or q.name = $1) and ${isKept(s, "$2")}`,
  /** In: tallies, queue (null: all), names of queues to leave out. Out: how many jobs there are. */
  countStates: `select coalesce(sum(amount), 0)::bigint from ${wantedTallies(s)}`,
  /** In: the same. Out: those of the tallies that have jobs. */
  tallies: `select metric from ${wantedTallies(s)} group by metric having sum(amount) > 0`,
});

/** In: tallies, queue (null: all), names of queues to leave out. */
const wantedTallies = (s: string): string => `(
      select queue, metric, amount from ${s}.tally
      union all select queue, metric, amount from ${s}.cell
    ) cells where metric = any($1::smallint[]) and ($2::text is null or queue = (select id from ${s}.queue where name = $2))
      and ${isKept(s, "$3", "queue")}`;
