import type { Clock } from "../../lib/clock.ts";
import { bindStore, type Verbs } from "../bind-store.ts";
import type { Store } from "../store.ts";
import { Context } from "./context.ts";
import { claimJobs, extendLease, keepStepsUnder, settleJob, writeNote } from "./exchange.ts";
import { changeFlow, readFlow } from "./flows.ts";
import { countErrors, countFacetValues, groupErrors } from "./groups.ts";
import { insertJob, replaceJob } from "./insert.ts";
import { busiestKeys, limitUse, listKeyLimits, setKeyLimits } from "./limits.ts";
import { countMatches, listJobs } from "./list.ts";
import { attemptsOf, changeJob, findJob, logsOf, manualChangesOf, removeJob } from "./manage.ts";
import { configureQueue, countAhead, oldestPending, queueStates, readCounters } from "./queues.ts";
import { dueSchedules, findSchedules, putSchedule, removeSchedule, takeTick } from "./schedules.ts";
import { putSchemas, readSchemas } from "./schemas.ts";
import {
  formerWorkers,
  livingWorkers,
  muteGroup,
  readAudit,
  readMutes,
  registerWorker,
  spendShare,
  unregisterWorker,
  writeAudit,
} from "./shared.ts";
import { endStep, readSteps } from "./steps.ts";
import { StoreTime } from "./store-time.ts";
import { expiredJobs, promoteJobs, pruneJobs, sweep } from "./upkeep.ts";

/**
 * THE CONTRACT IN ITS PLAINEST FORM: everything is in this process and ends with it.
 *
 * Each verb runs without a pause, so it is atomic, and its promise is resolved when it returns. jobs.ts says where a job is kept between
 * two verbs.
 */
export function openMemoryStore({ clock }: { readonly clock: Clock }): Store {
  const time = new StoreTime(clock);
  const memory = new Context();
  return bindStore({
    context: () => {
      memory.now = time.now();
      return memory;
    },
    verbs: VERBS,
    feed: memory.feed,
    inFlight: 1,
    shareable: false,
    close: async (callsEnded) => {
      await callsEnded;
      memory.feed.close();
    },
  });
}

const VERBS: Verbs<Context> = {
  insert: (memory, jobs) => jobs.map((job) => insertJob(memory, job)),
  replace: (memory, jobs) => jobs.map((job) => replaceJob(memory, job)),
  exchange: (memory, settlements, claims) => {
    const settled = settlements.map((settlement) => settleJob(memory, settlement));
    const answers = claims.map((claim) => claimJobs(memory, claim));
    const waits = answers.some(({ againInMs }) => againInMs !== null) ? { againInMs: answers.map(({ againInMs }) => againInMs) } : {};
    return { settled, claimed: answers.map(({ jobs }) => jobs), ...waits };
  },
  extend: (memory, leases) => leases.map((lease) => extendLease(memory, lease)),
  note: (memory, notes) => notes.map((note) => writeNote(memory, note)),
  keepSteps: (memory, keeps) => keeps.map((keep) => keepStepsUnder(memory, keep)),
  readSteps,
  endSteps: (memory, ends) => ends.map((end) => endStep(memory, end)),
  readFlows: (memory, reads) => reads.map((read) => readFlow(memory, read)),
  changeFlows: (memory, changes) => changes.map((change) => changeFlow(memory, change)),
  notices: ({ notices }, limit, except) => notices.first(limit, except),
  dropNotices: ({ notices }, keys) => notices.drop(keys),
  change: (memory, ids, move, manual) => ids.map((id) => changeJob(memory, id, move, manual)),
  remove: (memory, ids, from) => ids.map((id) => removeJob(memory, id, from)),
  find: (memory, ids) => ids.map((id) => findJob(memory, id)),
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
  // A claim ranks by the head start at that time.
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
  tick: (memory, ticks) => ticks.map((tick) => takeTick(memory, tick)),
  register: registerWorker,
  unregister: unregisterWorker,
  workers: livingWorkers,
  formerWorkers,
  spend: (memory, spends) => spends.map((spend) => spendShare(memory, spend)),
  mark: ({ shared, now }, name, ttlMs) => shared.marks.set(name, true, now + ttlMs),
  marked: ({ shared, now }, names) => names.map((name) => shared.marks.has(name, now)),
  putSchemas,
  readSchemas,
  mute: muteGroup,
  unmute: ({ shared }, group) => void shared.mutes.delete(group),
  mutes: readMutes,
  writeAudit,
  readAudit,
};
