import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../src/client/client.ts";
import { clientOver } from "../../src/assembly/client-over.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { RUN_NOW } from "../../src/core/lifecycle.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/open-store.ts";
import { MAX_BATCH, type Store } from "../../src/store/store.ts";
import { checkFiles } from "../history/check-history.ts";
import { dumpStore, readTotals } from "../history/dump.ts";
import type { HealthFigures } from "../history/progress.ts";
import { readHistory } from "../history/read-history.ts";
import { type Recorder, recordToFile } from "../history/recorder.ts";
import { recordingStore } from "../history/recording-store.ts";
import { RELEASE } from "../simulation/durable-plan.ts";
import { Random } from "../simulation/random.ts";
import { isAtRest, waitedForJobs } from "../simulation/rest.ts";
import type { Deed, Stage } from "./deed.ts";
import { Deployment } from "./deployment.ts";
import { feedFlows } from "./flow-feed.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { Guard } from "./guard.ts";
import { CREW, LEASE_MS, QUEUES, SCHEDULES } from "./jobs.ts";
import { Nemesis } from "./nemesis.ts";
import type { Place } from "./places/place.ts";
import { postgresPlace } from "./places/postgres-place.ts";
import { redisPlace } from "./places/redis-place.ts";
import { sqlitePlace } from "./places/sqlite-place.ts";
import { PROCESS_DEEDS } from "./process-deeds.ts";

/** The engines that processes can share. */
export const ENGINES = ["sqlite", "postgres", "redis"] as const;
export type TorturedEngine = (typeof ENGINES)[number];

const PRODUCERS = 2;
const FLOWS = 20;
/** Everything that was sent must have ended so long after the last fault, with the backlog that the faults left. */
const DRAIN_WITHIN_MS = 240_000;
/** When something is broken already, more of it need not be waited for. */
const DRAIN_BROKEN_WITHIN_MS = 20_000;
const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 60_000;
const LOOK_MS = 100;
/** What is due so soon is waited for, when everything comes to its end. */
const WAITED_FOR_MS = 1_000;
const WATCH_EVERY_MS = 2_000;
const PROBE_EVERY_MS = 100;
/** A PostgreSQL on which claims are slow begins them above what it claimed last, and from the bottom once a second (see its read-starts.ts). */
const OVERLOOK_MS = 1_000;
/** Claims beside each other pass over what another looks at, and so over its turn: PostgreSQL does. */
const SLACK_TURNS = 20;
/** A reading of the store's clock that took longer says too little. */
const CLOSE_READING_MS = 20;

export interface TortureWishes {
  readonly engine: TorturedEngine;
  readonly seed: number;
  readonly chaosMs: number;
  /** Without the faults that take long. */
  readonly isShort?: boolean;
  /** Only the faults whose names contain this. */
  readonly only?: string;
  /** So many flows of eight members are created besides those that producers create by chance. */
  readonly flows?: number;
  /** Where else the store shall be than usual. */
  readonly openPlace?: (guard: Guard, folder: string) => Promise<Place>;
}

/** What became of a run. */
export interface TortureEnd extends TortureWishes {
  readonly figures: Figures & { readonly health: HealthFigures };
  /** What is wrong, in words; empty when nothing is. */
  readonly complaints: readonly string[];
  /** Faults that were tried and never took effect. */
  readonly withoutEffect: readonly string[];
  /** Faults that cannot be tried here, and why. */
  readonly untried: readonly string[];
  /** Where the histories are kept; null when nothing is wrong and they are gone. */
  readonly folder: string | null;
}

/** Runs real processes on a real store through chaos and then calm, and holds what they wrote down against what is stored. */
export async function torture(wishes: TortureWishes): Promise<TortureEnd> {
  const guard = new Guard();
  const folder = mkdtempSync(join(tmpdir(), `millrace-torture-${wishes.engine}-`));
  guard.add("folder", folder);
  try {
    const end = await runIn(folder, guard, wishes);
    if (end.folder !== null) guard.forget("folder", folder);
    return end;
  } catch (error) {
    guard.forget("folder", folder);
    throw new Error(`the run on ${wishes.engine} with seed ${wishes.seed} could not go on; what was written is in ${folder}`, {
      cause: error,
    });
  } finally {
    await guard.close();
  }
}

const PLACES: Readonly<Record<TorturedEngine, (guard: Guard, folder: string) => Promise<Place>>> = {
  sqlite: async (guard, folder) => sqlitePlace(guard, folder),
  postgres: postgresPlace,
  redis: () => redisPlace("always"),
};

async function runIn(folder: string, guard: Guard, wishes: TortureWishes): Promise<TortureEnd> {
  const { engine, seed, chaosMs } = wishes;
  const complaints: string[] = [];
  const deployments: Deployment[] = [];
  const place = await (wishes.openPlace ?? PLACES[engine])(guard, folder);
  try {
    const random = new Random(`torture ${engine} ${seed}`);
    const { recorder, close } = recordToFile(join(folder, "witness.jsonl"), "witness.1");
    const store = await openStore(place.url);
    const recorded = recordingStore(store, recorder);
    const witness = clientOver(recorded, { clock: systemClock, random: Math.random, onTrouble: () => {} });
    const surroundings = { folder, guard, seed: `${engine} ${seed}`, onBroken: (text: string) => complaints.push(text) };
    await deploy(deployments, place, wishes.isShort === true, surroundings);
    const stage: Stage = {
      random: random.fork("nemesis"),
      deployments,
      witness,
      recorder,
      isShort: wishes.isShort === true,
      lead: { ms: 0 },
    };
    const lanes = [PROCESS_DEEDS, place.deeds, place.strangers].map((deeds) => deeds.filter((deed) => isWished(deed, wishes)));
    const nemesis = new Nemesis(
      stage,
      lanes.filter((deeds) => deeds.length > 0),
    );

    await setUp(witness);
    const watch = watchStore(store, recorder, place);
    const probing = probe(place, recorder);
    for (const deployment of deployments) deployment.start();
    await untilAtWork(stage);
    const feeding = feedFlows(witness, recorder, random.fork("flows"), wishes.flows ?? FLOWS, chaosMs);
    await Promise.all([nemesis.harm(chaosMs, () => complaints.length > 0), feeding]);
    await place.heal();
    recorder.see("calm", { boundMs: 0 });
    complaints.push(...(await drain(stage, recorded, complaints.length === 0 ? DRAIN_WITHIN_MS : DRAIN_BROKEN_WITHIN_MS)));
    await stopAll(deployments.filter(({ program }) => program === "worker"));
    await watch.stop();
    await probing.stop();
    await dumpStore(store, recorder);
    await witness.close();
    close();

    const paths = readdirSync(folder).flatMap((name) => (name.endsWith(".jsonl") ? [join(folder, name)] : []));
    let health: HealthFigures = { healthyMs: 0, longestWithoutMs: 0 };
    const onHealth = (figures: HealthFigures): void => void (health = figures);
    complaints.push(
      ...checkFiles(paths, {
        repeatsByItself: true,
        ...(engine === "postgres" ? { overlookMs: OVERLOOK_MS, slackTurns: SLACK_TURNS } : {}),
        onHealth,
      }),
    );
    return {
      ...wishes,
      figures: { ...figuresOf(readHistory(paths), nemesis.effects), health },
      complaints,
      withoutEffect: nemesis.withoutEffect,
      untried: place.untried,
      folder: complaints.length === 0 ? null : folder,
    };
  } finally {
    await Promise.all(deployments.map((deployment) => deployment.kill()));
    await place.stop();
  }
}

function isWished({ what, isLong }: Deed, { isShort, only = "" }: TortureWishes): boolean {
  return what.includes(only) && !(isShort === true && isLong === true);
}

type Surroundings = Pick<ConstructorParameters<typeof Deployment>[0], "folder" | "guard" | "seed" | "onBroken">;

async function deploy(deployments: Deployment[], place: Place, isShort: boolean, surroundings: Surroundings): Promise<void> {
  const workers = CREW.map(
    ({ slots, leaseMs, longLeaseMs }) => ({ program: "worker", slots, leaseMs: isShort ? leaseMs : longLeaseMs }) as const,
  );
  const producers = Array.from({ length: PRODUCERS }, () => ({ program: "producer", slots: 0, leaseMs: LEASE_MS }) as const);
  for (const [index, role] of [...workers, ...producers].entries()) {
    const name = `${role.program}-${index}`;
    deployments.push(new Deployment({ name, ...role, url: await place.reach(name), ...surroundings }));
  }
}

/** Before anything can go wrong: what a deployment script would do. */
async function setUp(client: Client): Promise<void> {
  for (const [queue, options] of Object.entries(QUEUES)) await client.configure(queue, options);
  for (const schedule of SCHEDULES) await client.schedules.upsert(schedule);
}

/** Nothing is done to anybody before all are there and jobs come to their end: else nobody could tell what the harm was. */
async function untilAtWork({ deployments, witness }: Stage): Promise<void> {
  const areReady = await Promise.all(deployments.map((deployment) => deployment.ready(START_WITHIN_MS)));
  for (let left = START_WITHIN_MS; left > 0; left -= LOOK_MS) {
    if (areReady.every(Boolean) && (await witness.stats()).counts.completed > 0) return;
    await sleep(LOOK_MS);
  }
  throw new Error("processes did not come to work, though nothing was done to them yet");
}

/** Reads the clock and the counters of the store now and then, as far as it answers. */
function watchStore(store: Store, recorder: Recorder, { hasMachineTime }: Place): { stop(): Promise<void> } {
  return repeat(WATCH_EVERY_MS, async () => {
    try {
      if (hasMachineTime) await readClockClosely(store, recorder);
      await readTotals(store, recorder);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
    }
  });
}

/** Another program writes to the store again and again. How often it can tells when the store is to blame for what does not happen. */
function probe(place: Place, recorder: Recorder): { stop(): Promise<void> } {
  return repeat(PROBE_EVERY_MS, async () => {
    try {
      await place.probe();
      recorder.see("probe", {});
    } catch {
      // The store is away or full, by whatever is done to it: what it does not take is not seen.
    }
  });
}

/** Does this again and again, with a pause in between. What it throws is thrown by the stop. */
function repeat(everyMs: number, turn: () => Promise<void>): { stop(): Promise<void> } {
  const over = new AbortController();
  const turning = (async () => {
    while (!over.signal.aborted) {
      await turn();
      await sleep(everyMs, null, { signal: over.signal }).catch(() => {});
    }
  })();
  // It is awaited at the end; until then nobody is there to hear of it.
  turning.catch(() => {});
  return {
    stop: () => {
      over.abort();
      return turning;
    },
  };
}

async function readClockClosely(store: Store, recorder: Recorder): Promise<void> {
  const before = recorder.now();
  const { now: engine } = await store.schedules([]);
  const withinMs = recorder.now() - before;
  if (withinMs <= CLOSE_READING_MS) recorder.see("clock", { engine, withinMs });
}

/** Lets everything come to its end. Tells what did not. */
async function drain({ deployments, witness }: Stage, store: Store, withinMs: number): Promise<string[]> {
  for (const deployment of deployments) deployment.start();
  await stopAll(deployments.filter(({ program }) => program === "producer"));
  for (const queue of Object.keys(QUEUES)) await witness.resume(queue);
  const complaints = await pauseSchedules(witness);
  for (let left = withinMs; left > 0; left -= LOOK_MS) {
    if (await isAtRest(store)) return complaints;
    await runNow(store);
    await release(witness, store);
    await sleep(LOOK_MS);
  }
  return [...complaints, `not everything has come to its end within ${withinMs / 1_000} s after the last fault`];
}

/** Starts what would wait for its time: that may be minutes for what was lost again and again. */
async function runNow(store: Store): Promise<void> {
  const { now } = await store.schedules([]);
  const { jobs } = await store.list({ status: ["scheduled", "retrying"], limit: MAX_BATCH });
  // One that sleeps would only sleep on.
  const waiting = jobs
    .filter(({ status, hasSteps }) => status === "retrying" || !hasSteps)
    .filter(({ runAt }) => runAt > now + WAITED_FOR_MS);
  if (waiting.length > 0)
    await store.change(
      waiting.map(({ id }) => id),
      RUN_NOW,
    );
}

/** Lets called jobs go on that wait for a signal which nobody else sends. */
async function release(witness: Client, store: Store): Promise<void> {
  for (const id of await waitedForJobs(store)) {
    try {
      await witness.signal(id, RELEASE, "go on", { id: "witness" });
    } catch (error) {
      if (!(error instanceof MillraceError && (error.code === "wrong_status" || error.code === "not_found"))) throw error;
    }
  }
}

async function pauseSchedules(witness: Client): Promise<string[]> {
  const complaints: string[] = [];
  for (const { name } of SCHEDULES) {
    try {
      await witness.schedules.pause(name);
    } catch (error) {
      if (!(error instanceof MillraceError && error.code === "not_found")) throw error;
      complaints.push(`the schedule ${name} is gone`);
    }
  }
  return complaints;
}

async function stopAll(deployments: readonly Deployment[]): Promise<void> {
  await Promise.all(deployments.map((deployment) => deployment.stop(STOP_WITHIN_MS)));
}
