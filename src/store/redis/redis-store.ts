import { REFUSED_AT_OPENING_MS } from "../../core/work-limits.ts";
import type { Clock } from "../../lib/clock.ts";
import { bindStore, type Verbs } from "../bind-store.ts";
import { EarlyHints } from "../early-hints.ts";
import { sayIfNotReached } from "../cannot-reach.ts";
import type { Store } from "../store.ts";
import type { Context } from "./context.ts";
import type { Driver } from "./driver.ts";
import { exchange, extendLeases, writeNotes } from "./exchange.ts";
import { RedisFeed } from "./feed.ts";
import { changeFlows, readFlows } from "./flows.ts";
import { countErrors, countFacetValues, groupErrors } from "./groups.ts";
import { insertJobs } from "./insert.ts";
import { readGivenIoredis } from "./given-ioredis.ts";
import { duplicateIoredis, openIoredis } from "./ioredis-driver.ts";
import { Keys } from "./keys.ts";
import { busiestKeys, limitUse, listKeyLimits, setKeyLimits } from "./limits.ts";
import { countMatches, listJobs } from "./list.ts";
import { attemptsOf, changeJobs, findJobs, logsOf, manualChangesOf, removeJobs } from "./manage.ts";
import { dropNotices, readNotices } from "./notices.ts";
import { readCounters } from "./counters.ts";
import { configureQueue, countAhead, oldestPending, QueueRegistry, queueStates } from "./queues.ts";
import { Reach } from "./reach.ts";
import { replaceJobs } from "./replace.ts";
import { checkServer, EvictionWatch } from "./requirements.ts";
import { dueSchedules, findSchedules, putSchedule, removeSchedule, takeTicks } from "./schedules.ts";
import { putSchemas, readSchemas } from "./schemas.ts";
import { Session } from "./session.ts";
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
import { endSteps, keepSteps, readSteps } from "./steps.ts";
import { expiredJobs, promoteJobs, pruneJobs, rerankJobs, sweep } from "./upkeep.ts";
import { parseRedisUrl, placeOf, type RedisUrl } from "./url.ts";

export interface RedisStoreOptions {
  readonly clock: Clock;
  /** How long a call may wait for the server before it fails with `store_unavailable`. */
  readonly deadlineMs: number;
  /** Fail soon if the server refuses connections. */
  readonly impatient?: boolean | undefined;
  /** Called once if the opening has to wait for the server. */
  readonly onWaiting?: ((message: string) => void) | undefined;
  /** Gets messages about the server that a person should see. Default: none. */
  readonly onWarning?: (message: string) => void;
  /** Replaces ioredis. */
  readonly driver?: Driver;
}

/** A connection without an answer for this long counts as dead. A call may take at least twice as long, so that it can run on another. */
const LONGEST_SILENCE_MS = 5_000;

const MOVING = "this Redis was used by an older version of Millrace: its jobs are moved to the keys of this version first";

/** Opens the server or Cluster of a `redis:` or `rediss:` URL, or of an ioredis of the application. Waits for it up to the deadline. */
export async function openRedisStore(
  place: string | { redis: unknown; prefix?: string | undefined },
  options: RedisStoreOptions,
): Promise<Store> {
  const timeoutMs = Math.min(LONGEST_SILENCE_MS, options.deadlineMs / 2);
  const given = typeof place === "string" ? null : readGivenIoredis(place.redis, place.prefix);
  const parsed = given ?? parseRedisUrl(place as string);
  const driver = options.driver ?? (given === null ? await openIoredis(parsed as RedisUrl, timeoutMs) : duplicateIoredis(given, timeoutMs));
  const refusedMs = options.impatient === true ? REFUSED_AT_OPENING_MS : Infinity;
  const session = new Session(driver, { ...options, place: placeOf(parsed), refusedMs });
  const opened = sayIfNotReached({
    server: `Redis at ${placeOf(parsed)}`,
    patienceMs: () => session.patienceMs(),
    lastError: () => driver.lastError,
    onWaiting: options.onWaiting ?? (() => {}),
  });
  const warn = options.onWarning ?? (() => {});
  const keys = new Keys(parsed.prefix);
  const registry = new QueueRegistry(session, keys);
  try {
    await checkServer(session, warn);
    await registry.open(() => warn(MOVING));
  } catch (error) {
    driver.close();
    throw error;
  } finally {
    opened();
  }
  const eviction = new EvictionWatch(driver, options.clock, warn);
  eviction.start();
  const feed = new RedisFeed(session, keys, parsed.cluster);
  await feed.ready();
  return storeOver({ session, keys, feed, earlyHints: new EarlyHints(), eviction, registry, reach: new Reach() });
}

/** The contract on Redis. Each verb is one or more scripts, one for each partition that it touches (see keys.ts). */
function storeOver(context: Context): Store {
  const { session, feed, eviction } = context;
  const givenUp = Promise.withResolvers<void>();
  return bindStore({
    context: () => context,
    verbs: VERBS,
    feed,
    inFlight: 2,
    shareable: true,
    waitFor: "Redis",
    giveUp: () => {
      session.giveUp();
      givenUp.resolve();
    },
    close: async (callsEnded) => {
      eviction.stop();
      // Commands to a silent server fail only when the connection is closed.
      await Promise.race([callsEnded, givenUp.promise]);
      feed.close();
      session.driver.close();
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
  rerank: rerankJobs,
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
