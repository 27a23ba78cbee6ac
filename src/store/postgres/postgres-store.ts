import { invalid } from "../../core/errors.ts";
import { REFUSED_AT_OPENING_MS } from "../../core/work-limits.ts";
import type { Clock } from "../../lib/clock.ts";
import { bindStore, type Verbs } from "../bind-store.ts";
import { sayIfNotReached } from "../cannot-reach.ts";
import type { Store } from "../store.ts";
import { BINARY_ARRAYS, TEXT_ARRAYS } from "./arrays.ts";
import { readGivenPool } from "./callers-pool.ts";
import { Catalog } from "./catalog.ts";
import { CommitWatch } from "./commit-watch.ts";
import { Connections } from "./connections.ts";
import type { Context } from "./context.ts";
import { type Driver, loadDriver } from "./driver.ts";
import { exchange, extendLeases, writeNotes } from "./exchange.ts";
import { PostgresFeed } from "./feed.ts";
import { changeFlows, readFlows } from "./flows.ts";
import { DueStart, LaneStarts, NoticeStart } from "./read-starts.ts";
import { countErrors, countFacetValues, groupErrors } from "./groups.ts";
import { Housekeeping } from "./housekeeping.ts";
import { insertJobs } from "./insert.ts";
import { busiestKeys, limitUse, listKeyLimits, setKeyLimits } from "./limits.ts";
import { countMatches, listJobs } from "./list.ts";
import { attemptsOf, changeJobs, findJobs, logsOf, manualChangesOf, removeJobs } from "./manage.ts";
import { migrate } from "./migrations.ts";
import { configureQueue, countAhead, oldestPending, queueStates, readCounters } from "./queues.ts";
import { dueSchedules, findSchedules, putSchedule, removeSchedule, takeTicks } from "./schedules.ts";
import { putSchemas, readSchemas } from "./schemas.ts";
import {
  formerWorkers,
  livingWorkers,
  muteGroup,
  readAudit,
  readMarks,
  readMutes,
  registerWorker,
  setMark,
  spendShares,
  unmuteGroup,
  unregisterWorker,
  writeAudit,
} from "./shared.ts";
import { replaceJobs } from "./replace.ts";
import { FUNCTIONS, type FunctionSet } from "./function-set.ts";
import { dropNotices, endSteps, keepSteps, readNotices, readSteps } from "./steps.ts";
import { hotStatements, statementsFor } from "./statements.ts";
import { expiredJobs, promoteJobs, pruneJobs, sweep } from "./upkeep.ts";
import { parsePostgresUrl } from "./url.ts";
import { verbsWithin } from "./within.ts";

export interface PostgresStoreOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** The largest number of connections in the pool; heartbeats and the feed have one more each. */
  readonly poolSize?: number | undefined;
  /** Called each time a call meets a row that another process holds. */
  readonly onLocked?: (() => void) | undefined;
  /** Fail soon if the server refuses connections. */
  readonly impatient?: boolean | undefined;
  /** Called once if the opening has to wait for the server. */
  readonly onWaiting?: ((message: string) => void) | undefined;
  /** The store's time, in tests only; otherwise it is the server's. */
  readonly testTime?: () => number;
  /** The functions of another version, in tests only. */
  readonly functions?: FunctionSet;
  /** Replaces the installed package `pg`. */
  readonly driver?: Driver;
}

const POOL_SIZE = 10;

/** Opens the store of a `postgres:` URL or of the application's pool, after creating or upgrading its schema. */
export async function openPostgresStore(
  place: string | { pg: unknown; schema?: string | undefined },
  options: PostgresStoreOptions,
): Promise<Store> {
  const given = typeof place === "string" ? null : readGivenPool(place.pg, place.schema);
  const address = given ?? parsePostgresUrl(place as string);
  const driver = given?.driver ?? options.driver ?? (await loadDriver());
  const { clock, deadlineMs, poolSize = POOL_SIZE, onLocked, functions = FUNCTIONS } = options;
  const refusedMs = options.impatient === true ? REFUSED_AT_OPENING_MS : Infinity;
  const createFunctions = (): Promise<void> => migrate(connections, address.schema, functions);
  const connections = new Connections({
    driver,
    address,
    pool: given?.pool,
    clock,
    deadlineMs,
    poolSize,
    refusedMs,
    onLocked,
    createFunctions,
  });
  const opened = sayIfNotReached({
    server: `PostgreSQL at ${address.place}`,
    patienceMs: () => connections.patienceMs(connections.lastError),
    lastError: () => connections.lastError,
    onWaiting: options.onWaiting ?? (() => {}),
  });
  try {
    await createFunctions();
    const [row] = await connections.call("select current_database(), 1::bigint, true");
    const [database, number, truth] = row ?? [];
    if (number !== 1 || truth !== true) throw invalid("pg", "a Pool whose queries obey rowMode and types, as those of pg do", place);
    return storeOver(connections, address.schema, database as string, { ...options, functions });
  } catch (error) {
    await connections.close();
    throw error;
  } finally {
    opened();
  }
}

/** The contract on a PostgreSQL server. Each verb is one call of a function there, or one statement. */
function storeOver(
  connections: Connections,
  schema: string,
  database: string,
  options: PostgresStoreOptions & { functions: FunctionSet },
): Store {
  const { clock, testTime, functions } = options;
  const sql = statementsFor(schema, functions.digest);
  connections.prepare(hotStatements(sql));
  const now = testTime === undefined ? () => null : testTime;
  const catalog = new Catalog(connections, sql);
  const feed = new PostgresFeed({ connections, sql, clock, channel: schema, now });
  const sendWorkHints = (ids: readonly number[]): void => {
    // A lost hint only costs a delay.
    catalog.queueNames(ids).then(
      (names) => feed.sendHints(names.map((queue) => ({ topic: "work", queue }))),
      () => {},
    );
  };
  const housekeeping = new Housekeeping(connections, sql, { now, onWork: sendWorkHints });
  const context: Context = {
    connections,
    sql,
    arrays: connections.areOurs ? BINARY_ARRAYS : TEXT_ARRAYS,
    catalog,
    housekeeping,
    laneStarts: new LaneStarts(),
    dueStart: new DueStart(),
    noticeStart: new NoticeStart(),
    bounded: new Map(),
    now,
    sendHints: (hints) => feed.sendHints(hints),
    sendWorkHints,
  };
  const commits = new CommitWatch({
    connections,
    sql,
    onCommit: (hints) => {
      housekeeping.wrote(0);
      feed.sendHints(hints);
    },
  });
  return bindStore({
    context: () => context,
    verbs: VERBS,
    feed,
    inFlight: 2,
    shareable: true,
    within: (tx) => verbsWithin(context, commits, tx, database),
    giveUp: () => connections.giveUp(),
    close: async (callsEnded) => {
      await callsEnded;
      await commits.close();
      await feed.close();
      await housekeeping.close();
      await connections.close();
    },
  });
}

const VERBS: Verbs<Context> = {
  insert: insertJobs,
  replace: replaceJobs,
  exchange,
  extend: extendLeases,
  note: writeNotes,
  keepSteps,
  readSteps,
  endSteps,
  readFlows,
  changeFlows,
  notices: readNotices,
  dropNotices,
  change: changeJobs,
  remove: removeJobs,
  find: findJobs,
  list: listJobs,
  errorGroups: groupErrors,
  errorCounts: countErrors,
  facetValues: countFacetValues,
  count: countMatches,
  attempts: attemptsOf,
  manualChanges: manualChangesOf,
  logs: logsOf,
  promote: promoteJobs,
  expired: expiredJobs,
  prune: pruneJobs,
  sweep,
  // A claim adds the head start of that time when it merges lanes.
  rerank: () => false,
  queues: queueStates,
  configure: configureQueue,
  setKeyLimits,
  keyLimits: listKeyLimits,
  limitUse,
  busiestKeys,
  oldest: oldestPending,
  ahead: countAhead,
  counters: readCounters,
  schedules: findSchedules,
  putSchedule,
  removeSchedule,
  dueSchedules,
  tick: takeTicks,
  register: registerWorker,
  unregister: unregisterWorker,
  workers: livingWorkers,
  formerWorkers,
  spend: spendShares,
  mark: setMark,
  marked: readMarks,
  putSchemas,
  readSchemas,
  mute: muteGroup,
  unmute: unmuteGroup,
  mutes: readMutes,
  writeAudit,
  readAudit,
};
