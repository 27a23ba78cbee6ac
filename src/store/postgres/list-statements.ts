/**
 * The SQL texts of lists, searches, counts and groups of jobs. Each becomes a function: see functions/lists.ts. The comment above each has its inputs, in order, and what an answer means.
 */
import { TREND_HOURS } from "../../core/error-tally.ts";
import { INTERNAL_MARK } from "../../core/internal.ts";
import { SEARCHED_PAYLOAD_BYTES } from "../../core/search.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { STATE } from "../numbers.ts";
import { GROUP_AT, GROUP_LENGTH } from "../stored-error.ts";
import { nowOf } from "./functions/snippets.ts";
import { PLACES } from "./tables.ts";
import { SUMMARY_COLUMNS, SUMMARY_RETURNS } from "./codec.ts";

/** A statement that is created as a function: the types of its inputs, and its columns. See functions/lists.ts. */
export interface Listing {
  readonly takes: readonly string[];
  readonly returns: string;
  readonly text: string;
}

const typesOf = (names: string): readonly string[] => names.split(" ");
/** Where a list begins and ends. */
const RANGE = typesOf("bigint bigint bigint bigint");
/** The same, the inputs of `filter`, most candidates, limit, facets, limit key. */
const FILTER = [
  ...RANGE,
  ...typesOf("smallint[] text text smallint smallint text text text[] bigint bigint"),
  ...typesOf("bigint bigint text text"),
];
const LAST_ENDED = typesOf("smallint[] bigint text bigint bigint text smallint smallint text text[] bigint bigint text text text");
const COUNT = "out_count bigint";
const COUNT_AMONG = `${COUNT}, out_looked bigint`;
const POSITION = "out_created_at bigint, out_seq bigint, out_looked bigint";
const FOUND = `out_found boolean, ${SUMMARY_RETURNS}`;
const PLACED = `out_looked bigint, out_wanted bigint, out_is_last boolean, out_last_at bigint, out_last_seq bigint, out_at bigint, out_seq bigint, ${FOUND}`;

/**
 * In: cursor's created_at and seq (null: from the top), from, to. Where a list begins and ends. Walks check the end only after their limit:
 * without statistics the server assumes that a range with two ends is small, and would sort all of it.
 */
const BEGINS = `($1::bigint is null or (j.created_at, j.seq) < ($1, $2::bigint)) and ($4::bigint is null or j.created_at < $4)`;
const ENDS = `($3::bigint is null or j.created_at >= $3)`;
const NEWEST = "j.created_at desc, j.seq desc";
/** In: names of queues to leave out (leftOutOf in core/filter.ts). Their ids. */
const leftOut = (s: string, names: string): string => `array(select id from ${s}.queue
  where name = any(${names}::text[]) or (strpos(name, '${INTERNAL_MARK}') > 0 and '${INTERNAL_MARK}' = any(${names})))`;
const lanesLeftOut = (s: string, names: string): string =>
  `(select id from ${s}.typed_lane where queue = any(${leftOut(s, names)})) left_out`;
/** Not by comparing names: the server assumes that few rows match that, and would read and sort all jobs instead of walking down. */
export const isKept = (s: string, names: string, queue = "q.id"): string =>
  `(${names}::text[] = '{}' or ${queue} <> all(${leftOut(s, names)}))`;
const ERROR_GROUP = `substr(s.error, ${GROUP_AT}, ${GROUP_LENGTH})`;
/** In: the wanted facets as JSON (null: any). */
const hasFacets = (wanted: string): string => `(${wanted}::text is null or j.facets::jsonb @> ${wanted}::text::jsonb)`;
/** The same for jobs from the index of the first facet. All of them have it, and to read the JSON of each would take a tenth of the time. */
const HAS_OTHER_FACETS = `((select count(*) from json_object_keys($17::text::json)) = 1 or ${hasFacets("$17")})`;
const ofLane = (s: string): string => `${isKept(s, "$12", "l.queue")} and ($6::text is null or l.type = $6)
  and ($7::text is null or l.queue_name = $7) and ($8::smallint is null or l.priority between $8 and $9::smallint)`;
/** In: limit key (null: any). Only lanes with a negative id have such jobs. */
const hasLimitKey = (wanted: string): string => `(${wanted}::text is null or (j.lane < 0 and j.extra::json ->> 'limitKey' = ${wanted}))`;
const ofBody = (s: string, facets: string): string =>
  `${ofLane(s)} and ($10::text is null or $10 = any(j.tags)) and ${facets} and ${hasLimitKey("$18")}`;
const OF_STATE = `($5::smallint[] is null or s.state = any($5)) and ($11::text is null or ${ERROR_GROUP} = $11)
    and ($13::bigint is null or s.ended_at >= $13) and ($14::bigint is null or s.ended_at < $14)`;
/**
 * In, after where a list begins and ends: states, type, queue, lowest and highest priority, tag, error group, names of queues to
 * leave out, ended from, ended before; as $17 the facets, and as $18 the limit key.
 */
const filter = (s: string, facets: string = hasFacets("$17")): string => `${OF_STATE} and ${ofBody(s, facets)}`;

/** The collation "C" lower-cases A to Z and nothing else. */
const lowered = (text: string): string => `lower((${text}) collate "C")`;
/** In: text. The searched part of a payload is measured in bytes, so a longer one is cut as bytes. */
const IN_PAYLOAD = `(case when octet_length(j.payload) <= ${SEARCHED_PAYLOAD_BYTES} then strpos(${lowered("j.payload")}, $19::text) > 0
  else position(convert_to($19::text, 'UTF8') in
    substring(convert_to(${lowered(`left(j.payload, ${SEARCHED_PAYLOAD_BYTES})`)}, 'UTF8') from 1 for ${SEARCHED_PAYLOAD_BYTES})) > 0 end)`;
/** In: text, the same inside a JSON text. Fields other than the payload that may have it; the reader of the row checks again. */
const IN_SUMMARY = `(select strpos(t.text, $19::text) > 0 or strpos(t.text, $20::text) > 0 from (select ${lowered(
  "concat_ws(E'\\n', j.id, l.type, j.key, array_to_string(j.tags, E'\\n'), s.error)",
)} as text) t)`;

export type Listings = ReturnType<typeof lists>;

/** The statements on the tables of one schema. */
export function listings(s: string): Listings {
  return lists(s);
}

const lists = (s: string) => ({
  ...listStatements(s, "false", "true"),
  search: listStatements(s, IN_PAYLOAD, `(${IN_SUMMARY} or ${IN_PAYLOAD})`, ["text", "text"]),
  /** Jobs that may have it, but not in the payload. */
  searchBeside: listStatements(s, "false", `(${IN_SUMMARY} and not ${IN_PAYLOAD})`, ["text", "text"]),
  count: countStatements(s, "true"),
  countInPayload: countStatements(s, IN_PAYLOAD, ["text"]),
  /** In: as count. For filters without state, error and end, which it does not read. Out: how many. */
  countBodies: {
    walk: countBodies(s, newestBodies(s)),
    walkFacet: countBodies(s, bodiesOfFacet(s), HAS_OTHER_FACETS),
    walkFacets: countBodies(s, bodiesOfFacets(s), HAS_OTHER_FACETS),
  },
  /**
   * In: as count. For filters without times of creation, tag and facets: it picks jobs and reads none of their bodies, which lie far apart.
   * Out: how many, and among how many candidates.
   */
  countPicked: {
    takes: FILTER,
    returns: COUNT_AMONG,
    text: `${standing(s)} select count(*), (select count(*) from s) from s where ${OF_STATE} and lane = any((select lanes from w)::int[])
      and ($8::smallint is null or priority between $8 and $9::smallint)`,
  },
  /**
   * In: where the list begins and ends, how many jobs, names of queues to leave out, states (null: all). Out: the position of the last
   * of that many jobs, if there are so many, and how many of them are candidates: all, without a look at each, if none can be another.
   */
  lastCandidate: {
    takes: [...RANGE, "bigint", "text[]", "smallint[]"],
    returns: POSITION,
    text: `select j.created_at, j.seq, case
      when $7::smallint[] is null and not exists (select from ${lanesLeftOut(s, "$6")}) then $5
      when $7::smallint[] is null then (select count(*) from (${newest(s, "j.lane")}) c where ${isKeptLane(s)})
      else (select count(*) from (${newest(s, "j.id, j.lane")}) c ${eachState(s, "c", "$7")}
        where s.state = any($7) and ${isKeptLane(s)}) end
    from (select j.created_at, j.seq from ${s}.job j where ${BEGINS} order by ${NEWEST} offset $5::bigint - 1 limit 1) j where ${ENDS}`,
  },
  /** In: where the list begins and ends, how many jobs, queue, facets. Out: as lastCandidate; all are candidates. */
  lastOfFacet: {
    takes: [...RANGE, "bigint", "text", "text"],
    returns: POSITION,
    text: `select j.created_at, j.seq, $5 from (${newestOfFacet(s, ofQueue(s, "$6"), "$7")} offset $5::bigint - 1 limit 1) j where ${ENDS}`,
  },
  /** In: where the list begins and ends, how many jobs, facets. Out: the same of all queues. */
  lastOfFacets: {
    takes: [...RANGE, "bigint", "text"],
    returns: POSITION,
    text: `select j.created_at, j.seq, $5 from (${newestOfFacets(s, "$6", "$5")} offset $5::bigint - 1 limit 1) j where ${ENDS}`,
  },
  /** In: facets. Out: how many queues have jobs with the first of them. (With `exists` the server would read the whole table.) */
  countFacetQueues: {
    takes: ["text"],
    returns: COUNT,
    text: `select count(*) from ${s}.queue q
    cross join lateral (select from ${s}.facet j where j.queue = q.id and ${isFirst("$1")} limit 1) x`,
  },
  /** In: as lastEnded, now. Out: error group, type, hours since the end, count, first and last end, the ids of the first and of the last. */
  countErrors: {
    takes: [...LAST_ENDED, "bigint"],
    returns: `out_group text, out_type text, out_hours bigint, ${COUNT}, out_first bigint, out_last bigint, out_first_job uuid, out_sample uuid`,
    text: `select ${ERROR_GROUP}, l.type, least(${TREND_HOURS}, greatest(0, ((select ${nowOf("$16::bigint")}) - s.ended_at) / ${HOUR_MS})), count(*),
      min(s.ended_at), max(s.ended_at), (array_agg(s.id order by s.ended_at, s.id))[1], (array_agg(s.id order by s.ended_at desc, s.id desc))[1]
    ${lastEnded(s)} and s.error is not null group by 1, 2, 3`,
  },
  /** In: as lastEnded, field. Out: its value (null: none), count. */
  countFacetValues: {
    takes: [...LAST_ENDED, "text"],
    returns: `out_value text, ${COUNT}`,
    text: `select j.facets::json ->> $16::text, count(*) ${lastEnded(s)} group by 1`,
  },
  /**
   * In: states, queue (null: all), names of queues to leave out, ended from, ended before (each null: any), most. Out: how many jobs
   * there are, counted up to `most`.
   */
  countEndedWithin: {
    takes: ["smallint[]", "text", "text[]", "bigint", "bigint", "bigint"],
    returns: COUNT,
    text: `select count(*) from (
      select from ${s}.queue q cross join unnest($1::smallint[]) as wanted(state)
      cross join lateral (select from ${s}.ended e where e.queue = q.id and e.state = wanted.state
        and ($4::bigint is null or e.ended_at >= $4) and ($5::bigint is null or e.ended_at < $5) limit $6::bigint) e
      where ($2::text is null or q.name = $2) and ${isKept(s, "$3")} limit $6::bigint
    ) counted`,
  },
  /** Out: the names of queues that have pending jobs. */
  queuesWithWork: {
    takes: [],
    returns: "out_name text",
    text: `select q.name from ${s}.queue q cross join lateral (select from ${s}.lane l
      cross join lateral (select from ${s}.ready r where r.lane = l.id limit 1) r where l.queue = q.id limit 1) x`,
  },
});

/**
 * In: states, how many of the last ended jobs to look at in each queue and state; then queue, from, to, type, lowest and highest priority,
 * tag (each null: any), names of queues to leave out, ended from, ended before, facets, error group, limit key (each null: any).
 */
const lastEnded = (s: string): string => `from ${s}.queue q cross join unnest($1::smallint[]) as wanted(state)
    cross join lateral (select * from ${s}.ended e where e.queue = q.id and e.state = wanted.state
      and ($11::bigint is null or e.ended_at >= $11) and ($12::bigint is null or e.ended_at < $12) order by e.ended_at desc limit $2::bigint) s
    ${eachLane(s, "s")} ${eachOf(s, "job", "j", "s")}
    where ${isKept(s, "$10")} and ($3::text is null or q.name = $3) and ($4::bigint is null or j.created_at >= $4)
      and ($5::bigint is null or j.created_at < $5) and ($6::text is null or l.type = $6)
      and ($7::smallint is null or l.priority between $7 and $8::smallint) and ($9::text is null or $9 = any(j.tags))
      and ${hasFacets("$13")} and ($14::text is null or ${ERROR_GROUP} = $14) and ${hasLimitKey("$15")}`;

/** `found`: whether the payload has the search text. `meant`: whether the job may have it at all. */
const listStatements = (s: string, found: string, meant: string, texts: readonly string[] = []) => {
  const takes = [...FILTER, ...texts];
  const inOrderOfState = (text: string): Listing => ({ takes, returns: PLACED, text });
  const newestFirst = (from: string, order: string, before = ""): Listing => ({
    takes,
    returns: `out_seq bigint, ${FOUND}`,
    text: `${before} select j.seq, ${found}, ${SUMMARY_COLUMNS} ${from} order by ${order} limit $16`,
  });
  const facetsNewest = "f.created_at desc, f.seq desc";
  return {
    /**
     * In: where the list begins and ends, the inputs of `filter`, most candidates, limit, facets, limit key, and for a search its text, plain
     * and in JSON. Out: seq, found, then a summary. Walks down from the newest job and leaves out what does not match.
     */
    walk: newestFirst(walked(s, newestBodies(s), meant), NEWEST),
    /** In: as walk, with a queue and facets. Walks down the index of the first facet. Cost: the candidates asked for, of that index alone. */
    walkFacet: newestFirst(walked(s, bodiesOfFacet(s), meant, HAS_OTHER_FACETS), facetsNewest),
    /** In: as walk, with facets and without a queue. Merges the indexes of all queues. Cost: the candidates asked for, in each of them. */
    walkFacets: newestFirst(walked(s, bodiesOfFacets(s), meant, HAS_OTHER_FACETS), facetsNewest),
    /** In: as walk. Picks the jobs of the wanted states from the tables of these states; right if they are few. */
    pick: newestFirst(picked(s, meant), NEWEST, standing(s)),
    /**
     * In: as walk, but where the list begins is a place in the index of the state: what it is sorted by, and seq. Out, no row at the end of
     * the index, else: how many candidates it looked at, how many of these are in a wanted status, queue and type, whether there are no more,
     * the place of the last; and of each match (at least one row, with nulls if there is none) its place, found, then a summary.
     * Cost: the candidates asked for, in each queue and state. For pending jobs, which are in as many lanes as there are types and priorities,
     * a few times the candidates asked for: see `readyPlaces`.
     */
    ended: inOrderOfState(inOrder(s, found, meant, endedPlaces(s), "desc", `${endedEdge(s)},`)),
    pending: inOrderOfState(
      inOrder(s, found, meant, "select * from whole", "asc", `${readyPlaces(s)},`, "not exists (select from edge) and"),
    ),
    due: inOrderOfState(inOrder(s, found, meant, duePlaces(s), "asc")),
  };
};

const inOrder = (s: string, found: string, meant: string, places: string, way: "asc" | "desc", before = "", isOver = ""): string =>
  `with ${before} c as materialized (${places} order by at ${way}, seq ${way} limit $15)
    , n as (select count(*) over (), count(*) filter (where wanted) over (), ${isOver} count(*) over () < $15, at, seq from c
      order by at ${way === "asc" ? "desc" : "asc"}, seq ${way === "asc" ? "desc" : "asc"} limit 1)
    select * from n left join lateral (
      select s.at, s.seq, ${found}, ${SUMMARY_COLUMNS} from c s ${eachLane(s, "s")} ${eachOf(s, "job", "j", "s")}
      where s.wanted and ${ENDS} and ($4::bigint is null or j.created_at < $4) and ${filter(s)} and ${meant}
      order by s.at ${way}, s.seq ${way} limit $16
    ) m on true`;

/** The lanes of the wanted queue and type. Queues are looked up before: in a join, the server may read all of them for each lane. */
const wantedLanes = (s: string): string => `${s}.typed_lane l where ($6::text is null or l.type = $6)
  and l.queue = any(array(select q.id from ${s}.queue q where ($7::text is null or q.name = $7) and ${isKept(s, "$12")}))`;

/** Each wanted queue and state. */
const endedLines = (s: string): string => `(select q.id, wanted.state from ${s}.queue q cross join unnest($5::smallint[]) wanted(state)
      where ($7::text is null or q.name = $7) and ${isKept(s, "$12")}) p`;

const endedPlaces = (s: string): string => `select x.*, x.ended_at as at, true as wanted
    from ${endedLines(s)} cross join lateral (select * from ${s}.ended e where e.queue = p.id and e.state = p.state
      and ($1::bigint is null or (e.ended_at <= $1 and (e.ended_at < $1 or e.seq < $2::bigint)))
      and ($13::bigint is null or e.ended_at >= $13) and ($14::bigint is null or e.ended_at < $14)
      and e.ended_at >= coalesce((select at from edge), 0)
      order by e.ended_at desc, e.seq desc limit $15) x`;

/**
 * When the last job of the stretch ended, or earlier; no row if there are too few. Reads only the index. So rows are read of those queues
 * whose jobs are in the stretch, and not as many of every queue. Jobs of the moment at which the list begins come on top: of these the
 * index does not know which were shown before.
 */
const endedEdge = (s: string): string => `edge as materialized (select x.ended_at as at from ${endedLines(s)}
    cross join lateral (select e.ended_at from ${s}.ended e where e.queue = p.id and e.state = p.state and ($1::bigint is null or e.ended_at < $1)
      and ($13::bigint is null or e.ended_at >= $13) and ($14::bigint is null or e.ended_at < $14)
      order by e.ended_at desc limit $15) x order by x.ended_at desc offset $15 - 1 limit 1)`;

/** About how many rows a stretch of pending jobs reads at most, from all lanes together. */
const MOST_OF_LANES = 100_000;
/** How many it reads of a lane at least, if there are not too many lanes: all of the first jobs may be in one. */
const LEAST_OF_LANE = 64;

/** Later than any place. */
const NEVER = "4611686018427387904";

/**
 * The first places of each lane. `edge` is the first place at which a lane was not read to its end: what comes after it is not known, and
 * `whole` is what comes before. So a stretch need not read as many from every lane as it looks at. Lanes of a high priority come first as
 * a rule, and those of a lower one long after: so `few` places of each lane say which lanes are `near`, and only of these many are read.
 * All of this reads only the index; rows are read of `whole` alone.
 */
const readyPlaces = (
  s: string,
): string => `lanes as materialized (select l.id, l.priority * (select head_start from ${s}.queue where id = l.queue) as ahead from ${wantedLanes(s)}),
    few as materialized (select least($15, ${LEAST_OF_LANE}, greatest(1, ${MOST_OF_LANES} / greatest(1, count(*)))) as rows from lanes),
    firsts as materialized (select p.id, p.ahead, min(x.at) as first_at, max(x.at) filter (where nth = (select rows from few)) as last_at
      from lanes p cross join lateral (select r.run_at - p.ahead as at, row_number() over (order by r.run_at, r.seq) as nth
        from ${s}.ready r where r.lane = p.id and ${isAfter("r", "p")} order by r.run_at, r.seq limit (select rows from few)) x group by 1, 2),
    near as materialized (select id from firsts where first_at <= coalesce((select min(last_at) from firsts), first_at)),
    most as materialized (select p.id, p.ahead, case when p.id = any(array(select id from near))
        then greatest((select rows from few), 2 * $15 / greatest(1, (select count(*) from near)) + 1) else (select rows from few) end as rows from firsts p),
    edge as materialized (select x.run_at - p.ahead as at, x.seq from most p
      cross join lateral (select r.run_at, r.seq from ${s}.ready r where r.lane = p.id and ${isAfter("r", "p")}
        order by r.run_at, r.seq offset p.rows - 1 limit 1) x order by 1, 2 limit 1),
    whole as (select x.* from most p cross join lateral (select r.*, r.run_at - p.ahead as at, true as wanted
        from ${s}.ready r where r.lane = p.id and ${isAfter("r", "p")}
          and (r.run_at, r.seq) <= (coalesce((select at from edge), ${NEVER}) + p.ahead, coalesce((select seq from edge), ${NEVER}))
        order by r.run_at, r.seq limit p.rows) x)`;

const isAfter = (row: string, lane: string): string =>
  `($1::bigint is null or (${row}.run_at, ${row}.seq) > ($1 + ${lane}.ahead, $2::bigint))`;

/** One index for both statuses, all queues and all types. */
const duePlaces = (s: string): string => `select x.* from (
      select d.*, d.run_at as at, d.state = any($5) and d.lane = any(array(select l.id from ${wantedLanes(s)})) as wanted from ${s}.due d
      where ($1::bigint is null or (d.run_at, d.seq) > ($1, $2::bigint)) order by d.run_at, d.seq limit $15) x`;

/** The same, counted. In: as above, the text only plain. */
const countStatements = (s: string, meant: string, texts: readonly string[] = []) => {
  const takes = [...FILTER, ...texts];
  const all = (from: string): Listing => ({ takes, returns: COUNT, text: `select count(*) ${from}` });
  return {
    walk: all(walked(s, newestBodies(s), meant)),
    walkFacet: all(walked(s, bodiesOfFacet(s), meant, HAS_OTHER_FACETS)),
    walkFacets: all(walked(s, bodiesOfFacets(s), meant, HAS_OTHER_FACETS)),
    /** Out also: how many candidates there were. */
    pick: { takes, returns: COUNT_AMONG, text: `${standing(s)} select count(*), (select count(*) from s) ${picked(s, meant)}` },
  };
};

const countBodies = (s: string, bodies: string, facets?: string): Listing => ({
  takes: FILTER,
  returns: COUNT,
  text: `select count(*) from ${bodies} ${eachLane(s, "j")} where ${ENDS} and ${ofBody(s, facets ?? hasFacets("$17"))}`,
});

const walked = (s: string, bodies: string, meant: string, facets?: string): string => `from ${bodies} ${eachState(s, "j", "$5")}
    ${eachLane(s, "j")} where ${ENDS} and ${filter(s, facets)} and ${meant}`;

const newestBodies = (s: string): string => `(select * from ${s}.job j where ${BEGINS} order by ${NEWEST} limit $15) j`;

const bodiesOfFacet = (s: string): string => bodiesAt(s, newestOfFacet(s, ofQueue(s, "$7"), "$17"));

const bodiesOfFacets = (s: string): string => bodiesAt(s, newestOfFacets(s, "$17", "$15"));

const bodiesAt = (s: string, places: string): string => `(${places} limit $15) f
    cross join lateral (select * from ${s}.job x where x.created_at = f.created_at and x.seq = f.seq offset 0) j`;

const ofQueue = (s: string, name: string): string => `(select id from ${s}.queue where name = ${name}::text)`;

/** The first of these facets (JSON). */
const isFirst = (facets: string): string => `(j.field, j.value) = (select key, value from json_each_text(${facets}::text::json) limit 1)`;

/** The places of jobs of a queue with the first of these facets, in the order of lists. */
const newestOfFacet = (s: string, queue: string, facets: string): string => `select j.created_at, j.seq from ${s}.facet j
    where j.queue = ${queue} and ${isFirst(facets)} and ${BEGINS} order by ${NEWEST}`;

/** The same of all queues, `most` of each. */
const newestOfFacets = (s: string, facets: string, most: string): string => `select x.created_at, x.seq
    from ${s}.queue q cross join lateral (${newestOfFacet(s, "q.id", facets)} limit ${most}::bigint) x order by x.created_at desc, x.seq desc`;

/**
 * The lane of a row and the name of its queue, looked up one by one and remembered: joined as tables they would be read for each job, or the
 * other way round, all jobs for each lane.
 */
const eachLane = (
  s: string,
  row: string,
): string => `cross join lateral (select x.*, (select name from ${s}.queue where id = x.queue) as queue_name
      from ${s}.typed_lane x where x.id = ${row}.lane offset 0) l`;

/** The row with the same id, looked up one by one: otherwise the server may read a whole table because it expects many. */
const eachOf = (s: string, table: string, name: string, other: string): string =>
  `cross join lateral (select * from ${s}.${table} x where x.id = ${other}.id offset 0) ${name}`;

/**
 * The same for the tables of these states (null: all). The server knows them when it plans, so it looks in no other table. (With `limit 1` it
 * would also look in none after the one that has the job, but expect so few jobs that it sorts all bodies instead of walking their index.)
 */
const eachState = (s: string, other: string, states: string): string =>
  `cross join lateral (${Object.entries(PLACES)
    .map(([table, held]) => {
      const isWanted = `(${states}::smallint[] is null or ${states}::smallint[] && '{${held.join()}}'::smallint[])`;
      return `select * from ${s}.${table} x where x.id = ${other}.id and ${isWanted}`;
    })
    .join(" union all ")} offset 0) s`;

const newest = (s: string, columns: string): string =>
  `select ${columns} from ${s}.job j where ${BEGINS} order by ${NEWEST} limit $5::bigint`;
const isKeptLane = (s: string): string => `c.lane <> all(array(select id from ${lanesLeftOut(s, "$6")}))`;

const standing = (
  s: string,
): string => `with w as materialized (select array(select l.id from ${wantedLanes(s)}) as lanes), s as materialized (
      select * from ${s}.ready where ${STATE.pending} = any($5::smallint[]) and lane = any((select lanes from w)::int[])
      union all select * from ${s}.due where $5::smallint[] && '{${STATE.scheduled},${STATE.retrying}}'::smallint[] and state = any($5)
        and lane = any((select lanes from w)::int[])
      union all select * from ${s}.running where ${STATE.running} = any($5) and lane = any((select lanes from w)::int[])
      union all select * from ${s}.blocked where ${STATE.blocked} = any($5) and lane = any((select lanes from w)::int[])
      union all select * from ${s}.ended where queue = any(array(
        select q.id from ${s}.queue q where ($7::text is null or q.name = $7) and ${isKept(s, "$12")})) and state = any($5)
        and ($13::bigint is null or ended_at >= $13) and ($14::bigint is null or ended_at < $14)
      limit $15
    )`;

const picked = (s: string, meant: string): string =>
  `from s ${eachLane(s, "s")} ${eachOf(s, "job", "j", "s")} where ${BEGINS} and ${ENDS} and ${filter(s)} and ${meant}`;
