import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../src/client/client.ts";
import { clientOver } from "../../src/client-over.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { isTerminal } from "../../src/core/job.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { checkFiles } from "../history/check-history.ts";
import { dumpStore, readTotals } from "../history/dump.ts";
import { readHistory } from "../history/read-history.ts";
import { type Recorder, recordToFile } from "../history/recorder.ts";
import { recordingStore } from "../history/recording-store.ts";
import { Random } from "../simulation/random.ts";
import type { Stage } from "./deed.ts";
import { Deployment } from "./deployment.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { Guard } from "./guard.ts";
import { QUEUES, SCHEDULES } from "./jobs.ts";
import { Nemesis } from "./nemesis.ts";
import type { Place } from "./places/place.ts";
import { postgresPlace } from "./places/postgres-place.ts";
import { redisPlace } from "./places/redis-place.ts";
import { sqlitePlace } from "./places/sqlite-place.ts";
import { PROCESS_DEEDS } from "./process-deeds.ts";

/** The engines that processes can share. */
export const ENGINES = ["sqlite", "postgres", "redis"] as const;
export type TorturedEngine = (typeof ENGINES)[number];

const WORKERS = 3;
const PRODUCERS = 2;
/** Everything that was sent must have ended so long after the last fault, with the backlog that the faults left. */
const DRAIN_WITHIN_MS = 240_000;
/** When something is broken already, more of it need not be waited for. */
const DRAIN_BROKEN_WITHIN_MS = 20_000;
const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 60_000;
const LOOK_MS = 100;
const WATCH_EVERY_MS = 2_000;
/** A PostgreSQL on which claims are slow begins them above what it claimed last, and from the bottom once a second (see its floors.ts). */
const OVERLOOK_MS = 1_000;
/** A reading of the store's clock that took longer says too little. */
const CLOSE_READING_MS = 20;

export interface TortureWishes {
  readonly engine: TorturedEngine;
  readonly seed: number;
  readonly chaosMs: number;
  /** Where else the store shall be than usual. */
  readonly openPlace?: (guard: Guard, folder: string) => Promise<Place>;
}

/** What became of a run. */
export interface TortureEnd extends TortureWishes {
  readonly figures: Figures;
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
    const witness = clientOver(recordingStore(store, recorder), { clock: systemClock, random: Math.random, onTrouble: () => {} });
    await deploy(deployments, place, { folder, guard, seed: `${engine} ${seed}`, onBroken: (text) => complaints.push(text) });
    const stage: Stage = { random: random.fork("nemesis"), deployments, witness, recorder, lead: { ms: 0 } };
    const nemesis = new Nemesis(stage, [PROCESS_DEEDS, place.deeds]);

    await setUp(witness);
    const watch = watchStore(store, recorder, place);
    for (const deployment of deployments) deployment.start();
    await untilAtWork(stage);
    await nemesis.harm(chaosMs, () => complaints.length > 0);
    await place.heal();
    recorder.see("calm", { boundMs: 0 });
    complaints.push(...(await drain(stage, store, complaints.length === 0 ? DRAIN_WITHIN_MS : DRAIN_BROKEN_WITHIN_MS)));
    await stopAll(deployments.filter(({ program }) => program === "worker"));
    await watch.stop();
    await dumpStore(store, recorder);
    await witness.close();
    close();

    const paths = readdirSync(folder).flatMap((name) => (name.endsWith(".jsonl") ? [join(folder, name)] : []));
    complaints.push(...checkFiles(paths, { repeatsByItself: true, overlookMs: engine === "postgres" ? OVERLOOK_MS : 0 }));
    return {
      ...wishes,
      figures: figuresOf(readHistory(paths), nemesis.effects),
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

type Surroundings = Pick<ConstructorParameters<typeof Deployment>[0], "folder" | "guard" | "seed" | "onBroken">;

async function deploy(deployments: Deployment[], place: Place, surroundings: Surroundings): Promise<void> {
  const roles = [...Array<"worker">(WORKERS).fill("worker"), ...Array<"producer">(PRODUCERS).fill("producer")];
  for (const [index, program] of roles.entries()) {
    deployments.push(new Deployment({ name: `${program}-${index}`, program, url: await place.reach(), ...surroundings }));
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
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      try {
        if (hasMachineTime) await readClockClosely(store, recorder);
        await readTotals(store, recorder);
      } catch (error) {
        if (!(error instanceof MillraceError)) throw error;
      }
      await sleep(WATCH_EVERY_MS, null, { signal: over.signal }).catch(() => {});
    }
  })();
  // It is awaited at the end; until then nobody is there to hear of it.
  watching.catch(() => {});
  return {
    stop: () => {
      over.abort();
      return watching;
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
    if (await isDrained(store)) return complaints;
    await sleep(LOOK_MS);
  }
  return [...complaints, `not everything has come to its end within ${withinMs / 1_000} s after the last fault`];
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

async function isDrained(store: Store): Promise<boolean> {
  const queues = await store.queues();
  return queues.every(({ counts }) => counts.every(({ status, count }) => count === 0 || isTerminal(status)));
}

async function stopAll(deployments: readonly Deployment[]): Promise<void> {
  await Promise.all(deployments.map((deployment) => deployment.stop(STOP_WITHIN_MS)));
}
