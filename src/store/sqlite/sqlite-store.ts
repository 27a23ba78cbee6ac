import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../lib/clock.ts";
import { bindStore, type Verbs } from "../bind-store.ts";
import type { Store } from "../store.ts";
import { Connection } from "./connection.ts";
import { openDatabase, readGivenDatabase } from "./database.ts";
import { exchange, extendLease, isDurable, keepStepsUnder, writeNote } from "./exchange.ts";
import { SqliteFeed } from "./feed.ts";
import { changeFlow, readFlow } from "./flows.ts";
import { errorCounts, facetValues, groupErrors } from "./groups.ts";
import { insertJobs } from "./insert.ts";
import { busiestKeys, limitUse, listKeyLimits, setKeyLimits } from "./limits.ts";
import { countMatches, listJobs } from "./list.ts";
import { attemptsOf, changeJob, findJob, logsOf, manualChangesOf, removeJob, replaceJob } from "./manage.ts";
import { configureQueue, countAhead, oldestPending, queueStates, readCounters } from "./queues.ts";
import { dueSchedules, findSchedules, putSchedule, removeSchedule, takeTick } from "./schedules.ts";
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
  spendShare,
  unmuteGroup,
  unregisterWorker,
  writeAudit,
} from "./shared.ts";
import { dropNotices, endStep, firstNotices, readLeasedSteps, readSteps } from "./steps.ts";
import type { Transaction, View } from "./transaction.ts";
import { expiredJobs, promoteJobs, pruneJobs, rerankJobs, sweep } from "./upkeep.ts";
import { parseSqliteUrl } from "./url.ts";
import { CallersTransactions } from "./within.ts";
import { Writer } from "./writer.ts";

interface OpenOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly sqliteVersion?: string;
  readonly onLocked?: (() => void) | undefined;
}

/** Opens the file of a `sqlite:` URL, and creates it if needed; or works on the application's own connection. */
export async function openSqliteStore(place: string | { sqlite: unknown }, options: OpenOptions): Promise<Store> {
  // A given connection keeps its `synchronous`: a change for one of our commits would also be one for the application's.
  if (typeof place !== "string")
    return storeOver({ ...options, ...(await readGivenDatabase(place.sqlite)), fullSync: false, isGiven: true });
  const { path, synchronous } = parseSqliteUrl(place);
  const opened = await openDatabase({ path, synchronous, sqliteVersion: options.sqliteVersion ?? process.versions.sqlite ?? "0" });
  return storeOver({ ...options, ...opened, path: resolve(path), fullSync: synchronous === "full", isGiven: false });
}

interface SqliteStoreOptions {
  readonly db: DatabaseSync;
  /** Whether `db` is the application's, which also closes it. */
  readonly isGiven: boolean;
  readonly path: string;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly fullSync: boolean;
  readonly shareable: boolean;
  readonly release: () => void;
  readonly onLocked?: (() => void) | undefined;
}

/** The contract on one file. Each verb is a few statements in the transaction of its tick (see writer.ts). */
export function storeOver(options: SqliteStoreOptions): Store {
  const { db, isGiven, shareable, release } = options;
  const writer = new Writer(new Connection(db), {
    ...options,
    onHints: (hints) => feed.tell(hints),
    onCommit: () => feed.committed(),
  });
  const feed = new SqliteFeed(writer);
  const callers = new CallersTransactions({
    ...options,
    given: isGiven ? db : null,
    onGiven: () => feed.lookAtAll(),
    onNotices: () => feed.expectNotices(),
  });
  return bindStore({
    context: () => writer,
    verbs: VERBS,
    feed,
    inFlight: 1,
    shareable,
    within: (tx) => callers.verbs(tx),
    giveUp: () => writer.giveUp(),
    close: async (callsEnded) => {
      await callsEnded;
      feed.close();
      await writer.close();
      if (!isGiven) db.close();
      release();
    },
  });
}

const VERBS: Verbs<Writer> = {
  insert: insertJobs,
  replace: durably((tx, jobs) => jobs.map((job) => replaceJob(tx, job))),
  exchange: (writer, settlements, claims) => writer.run(isDurable(settlements, claims), (tx) => exchange(tx, settlements, claims)),
  extend: withoutSync((tx, leases) => leases.map((lease) => extendLease(tx, lease))),
  note: withoutSync((tx, notes) => notes.map((note) => writeNote(tx, note))),
  keepSteps: durably((tx, keeps) => keeps.map((keep) => keepStepsUnder(tx, keep))),
  readSteps: (writer, id, fence, after) =>
    fence === null ? writer.read((view) => readSteps(view, id, after)) : writer.run(true, (tx) => readLeasedSteps(tx, id, fence, after)),
  endSteps: durably((tx, ends) => ends.map((end) => endStep(tx, end))),
  readFlows: reading((view, reads) => reads.map((read) => readFlow(view, read))),
  changeFlows: durably((tx, changes) => changes.map((change) => changeFlow(tx, change))),
  notices: reading(firstNotices),
  // A notice that a power cut brings back is delivered again.
  dropNotices: withoutSync(dropNotices),
  change: durably((tx, ids, move, manual) => ids.map((id) => changeJob(tx, id, move, manual))),
  remove: durably((tx, ids, from) => ids.map((id) => removeJob(tx, id, from))),
  find: reading((view, ids) => ids.map((id) => findJob(view, id))),
  list: reading(listJobs),
  errorGroups: reading(groupErrors),
  errorCounts: reading(errorCounts),
  facetValues: reading(facetValues),
  count: reading(countMatches),
  attempts: reading(attemptsOf),
  manualChanges: reading(manualChangesOf),
  logs: reading(logsOf),
  promote: withoutSync(promoteJobs),
  expired: reading(expiredJobs),
  prune: withoutSync(pruneJobs),
  sweep: withoutSync(sweep),
  rerank: withoutSync(rerankJobs),
  queues: reading(queueStates),
  configure: durably(configureQueue),
  setKeyLimits: durably(setKeyLimits),
  keyLimits: reading(listKeyLimits),
  limitUse: reading(limitUse),
  busiestKeys: reading(busiestKeys),
  oldest: reading(oldestPending),
  ahead: reading(countAhead),
  counters: reading(readCounters),
  schedules: reading(findSchedules),
  putSchedule: durably(putSchedule),
  removeSchedule: durably(removeSchedule),
  dueSchedules: reading(dueSchedules),
  tick: durably((tx, ticks) => ticks.map((tick) => takeTick(tx, tick))),
  register: withoutSync(registerWorker),
  unregister: withoutSync(unregisterWorker),
  workers: reading(livingWorkers),
  formerWorkers: reading(formerWorkers),
  spend: withoutSync((tx, spends) => spends.map((spend) => spendShare(tx, spend))),
  mark: durably(setMark),
  marked: reading(readMarks),
  putSchemas: durably(putSchemas),
  readSchemas: reading(readSchemas),
  mute: durably(muteGroup),
  unmute: durably(unmuteGroup),
  mutes: reading(readMutes),
  writeAudit: durably(writeAudit),
  readAudit: reading(readAudit),
};

type Work<Sees, Args extends unknown[], Answer> = (sees: Sees, ...args: Args) => Answer;
type Verb<Args extends unknown[], Answer> = (writer: Writer, ...args: Args) => Promise<Answer>;

/** Runs in the transaction of this tick; the answer waits for the disk. */
function durably<Args extends unknown[], Answer>(work: Work<Transaction, Args, Answer>): Verb<Args, Answer> {
  return (writer, ...args) => writer.run(true, (tx) => work(tx, ...args));
}

/** The same for work that a power cut may undo: the caller is then gone too, or asks again. */
function withoutSync<Args extends unknown[], Answer>(work: Work<Transaction, Args, Answer>): Verb<Args, Answer> {
  return (writer, ...args) => writer.run(false, (tx) => work(tx, ...args));
}

/** Runs at once, outside of any transaction. */
function reading<Args extends unknown[], Answer>(look: Work<View, Args, Answer>): Verb<Args, Answer> {
  return (writer, ...args) => writer.read((view) => look(view, ...args));
}
