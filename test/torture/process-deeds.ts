/** What is done to processes, on every engine. */
import { setTimeout as sleep } from "node:timers/promises";
import { CRASH, FREEZE } from "../history/line.ts";
import type { Deed, Stage } from "./deed.ts";
import type { Deployment } from "./deployment.ts";
import { GRACE_MS, LEASE_MS } from "./jobs.ts";

const STOP_WITHIN_MS = 60_000;
const STEP_SEEN_WITHIN_MS = 3_000;
const LOOK_MS = 10;

export const PROCESS_DEEDS: readonly Deed[] = [
  { what: "worker killed", attempt: (stage) => kill(stage, "worker") },
  { what: "producer killed", attempt: (stage) => kill(stage, "producer") },
  { what: "process frozen", attempt: freeze },
  { what: "clock stepped", attempt: stepClock },
  { what: "worker redeployed", attempt: redeploy },
];

/** Every process at once, wherever each of them is. */
export const ALL_KILLED: Deed = { what: "all processes killed", attempt: killAll };

async function kill(stage: Stage, program: Deployment["program"]): Promise<boolean> {
  const victim = victimOf(stage, program);
  if (victim === null || !(await killOne(stage, victim))) return false;
  await sleep(stage.random.int(0, 800));
  victim.start();
  return true;
}

async function killOne({ recorder }: Stage, victim: Deployment): Promise<boolean> {
  const { by } = victim;
  if (!(await victim.kill())) return false;
  recorder.see("fault", { what: CRASH, who: by });
  return true;
}

async function killAll(stage: Stage): Promise<boolean> {
  const victims = stage.deployments.filter(({ isReady }) => isReady);
  const killed = await Promise.all(victims.map((victim) => killOne(stage, victim)));
  await sleep(stage.random.int(0, 500));
  for (const victim of victims) victim.start();
  return killed.length > 1 && killed.every((isKilled) => isKilled);
}

/** For longer than a lease. */
async function freeze(stage: Stage): Promise<boolean> {
  const victim = victimOf(stage, stage.random.chance(0.8) ? "worker" : "producer");
  if (victim === null) return false;
  const ms = LEASE_MS + stage.random.int(300, 2_000);
  const { by } = victim;
  const at = stage.recorder.now();
  const isDone = await victim.freeze(ms);
  // It finds its leases gone a little later.
  if (isDone) stage.recorder.see("fault", { what: FREEZE, who: by, from: at, until: at + ms + 2 * LEASE_MS });
  return isDone;
}

/** Back or forward. Each step forward leads further than the last: to where the time of a SQLite file has gone already it would be none. */
async function stepClock(stage: Stage): Promise<boolean> {
  const victim = victimOf(stage, "worker");
  if (victim === null) return false;
  const before = victim.clockSteps;
  const shiftMs = stage.random.chance(0.5)
    ? -stage.random.pick([3_000, 90_000, 3_600_000])
    : (stage.lead.ms += stage.random.int(2_000, 6_000));
  victim.setClock(shiftMs);
  for (let left = STEP_SEEN_WITHIN_MS; left > 0 && victim.clockSteps <= before; left -= LOOK_MS) await sleep(LOOK_MS);
  if (victim.clockSteps <= before) return false;
  stage.recorder.see("fault", { what: "clock stepped", who: victim.by });
  return true;
}

/** What it holds is finished or given back, at no cost. */
async function redeploy(stage: Stage): Promise<boolean> {
  const victim = victimOf(stage, "worker");
  const isDone = (await victim?.stop(STOP_WITHIN_MS + GRACE_MS)) ?? false;
  victim?.start();
  return isDone;
}

/** A process at work, of those that run this program. */
export function victimOf({ random, deployments }: Stage, program: Deployment["program"]): Deployment | null {
  const ready = deployments.filter((deployment) => deployment.program === program && deployment.isReady);
  return ready.length === 0 ? null : random.pick(ready);
}
