import { describe } from "vitest";
import type { Engine } from "../harness.ts";
import { allowanceSuite } from "./allowance.ts";
import { auditSuite } from "./audit.ts";
import { blockedSuite } from "./blocked.ts";
import { bulkSuite } from "./bulk.ts";
import { calledEndsSuite } from "./called-ends.ts";
import { callsSuite } from "./calls.ts";
import { changeSuite } from "./change.ts";
import { claimSuite } from "./claim.ts";
import { closingSuite } from "./closing.ts";
import { counterSuite } from "./counter.ts";
import { exceptQueuesSuite } from "./except-queues.ts";
import { facetSuite } from "./facets.ts";
import { feedSuite } from "./feed.ts";
import { flowEndsSuite } from "./flow-ends.ts";
import { flowRunsSuite } from "./flow-runs.ts";
import { flowsSuite } from "./flows.ts";
import { followUpSuite } from "./follow-up.ts";
import { groupSuite } from "./groups.ts";
import { inputSuite } from "./input.ts";
import { insertSuite } from "./insert.ts";
import { internalSuite } from "./internal.ts";
import { keySuite } from "./key.ts";
import { leaseSuite } from "./lease.ts";
import { limitHoldsSuite } from "./limit-holds.ts";
import { limitKeysSuite } from "./limit-keys.ts";
import { limitRacesSuite } from "./limit-races.ts";
import { limitRunsSuite } from "./limit-runs.ts";
import { limitsSuite } from "./limits.ts";
import { listOrderSuite } from "./list-order.ts";
import { manualChangeSuite } from "./manual-change.ts";
import { markSuite } from "./mark.ts";
import { muteSuite } from "./mute.ts";
import { payloadSchemaSuite } from "./payload-schema.ts";
import { orderSuite } from "./order.ts";
import { querySuite } from "./query.ts";
import { queueSuite } from "./queue.ts";
import { ratesSuite } from "./rates.ts";
import { replaceSuite } from "./replace.ts";
import { scheduleSuite } from "./schedule.ts";
import { searchSuite } from "./search.ts";
import { settleSuite } from "./settle.ts";
import { stepEndsSuite } from "./step-ends.ts";
import { stepLivesSuite } from "./step-lives.ts";
import { stepReadsSuite } from "./step-reads.ts";
import { stepStormSuite } from "./step-storm.ts";
import { stepsSuite } from "./steps.ts";
import { stormSuite } from "./storm.ts";
import { suspendSuite } from "./suspend.ts";
import { suspendedLimitsSuite } from "./suspended-limits.ts";
import { transactionSuite } from "./transaction.ts";
import { transitionsSuite } from "./transitions.ts";
import { turnsSuite } from "./turns.ts";
import { upkeepSuite } from "./upkeep.ts";
import { waitingSuite } from "./waiting.ts";
import { workerSuite } from "./worker.ts";

const FAMILIES = [
  insertSuite,
  replaceSuite,
  keySuite,
  claimSuite,
  orderSuite,
  limitsSuite,
  limitHoldsSuite,
  ratesSuite,
  turnsSuite,
  limitKeysSuite,
  limitRunsSuite,
  limitRacesSuite,
  leaseSuite,
  settleSuite,
  followUpSuite,
  changeSuite,
  manualChangeSuite,
  blockedSuite,
  stepsSuite,
  stepReadsSuite,
  suspendSuite,
  suspendedLimitsSuite,
  stepEndsSuite,
  stepLivesSuite,
  callsSuite,
  calledEndsSuite,
  flowsSuite,
  flowEndsSuite,
  flowRunsSuite,
  transitionsSuite,
  querySuite,
  listOrderSuite,
  searchSuite,
  groupSuite,
  facetSuite,
  bulkSuite,
  internalSuite,
  exceptQueuesSuite,
  waitingSuite,
  queueSuite,
  counterSuite,
  scheduleSuite,
  upkeepSuite,
  feedSuite,
  workerSuite,
  allowanceSuite,
  markSuite,
  muteSuite,
  payloadSchemaSuite,
  auditSuite,
  inputSuite,
  transactionSuite,
  stormSuite,
  stepStormSuite,
  closingSuite,
];

/** Every promise of the store contract, on one engine. */
export function storeSuite(engine: Engine): void {
  describe(`the store contract on ${engine.name}`, () => {
    for (const family of FAMILIES) family(engine);
  });
}
