import type { Store } from "../../src/store/store.ts";
import { readClock } from "../history/dump.ts";
import type { Line } from "../history/line.ts";
import { Recorder } from "../history/recorder.ts";
import type { Network } from "./network.ts";
import type { WorldPlan } from "./plan.ts";
import type { SimProcess } from "./process.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./timeline.ts";

/** A bug that is put into a world on purpose, from outside. */
export interface Plant {
  /** The store with the bug, as this process meets it. */
  readonly storeFor?: (store: Store, process: SimProcess) => Store;
  /** The store with the bug, as all meet it. */
  readonly store?: (store: Store, parts: { readonly timeline: Timeline; readonly random: Random }) => Store;
  readonly pollMs?: number;
  /** How long such a world is given to come to rest: one with a bug may never do. */
  readonly boundMs?: number;
}

export interface StageParts {
  readonly plan: WorldPlan;
  readonly random: Random;
  readonly timeline: Timeline;
  readonly network: Network;
  /** The store as all meet it, with no network before it. */
  readonly store: Store;
  /** The same without a bug. */
  readonly engine: Store;
  readonly plant: Plant;
  readonly write: (line: Line) => void;
}

/** WHAT ALL ACTORS OF A WORLD STAND ON: its time, its store and the way there, its history, and what they know of each other. */
export class Stage {
  readonly plan: WorldPlan;
  readonly random: Random;
  readonly timeline: Timeline;
  readonly network: Network;
  readonly store: Store;
  readonly plant: Plant;
  readonly #engine: Store;
  readonly #write: (line: Line) => void;
  readonly #notes: Recorder;
  /** Jobs that producers know of, for operators to pick from. */
  readonly known: string[] = [];
  /** Those of them that do durable work. */
  readonly durable: string[] = [];
  /** Flows that producers know of. */
  readonly flows: string[] = [];
  /** What should never happen in an actor. */
  readonly errors: unknown[] = [];

  constructor({ plan, random, timeline, network, store, engine, plant, write }: StageParts) {
    this.plan = plan;
    this.random = random;
    this.timeline = timeline;
    this.network = network;
    this.store = store;
    this.plant = plant;
    this.#engine = engine;
    this.#write = write;
    this.#notes = this.recorder("world");
  }

  recorder(by: string): Recorder {
    return new Recorder({ by, now: () => this.timeline.now, write: this.#write });
  }

  /** Notes of the world itself. */
  get notes(): Recorder {
    return this.#notes;
  }

  fault(what: string, who: string | null, until?: number): void {
    this.#notes.see("fault", { what, who, ...(until === undefined ? {} : { until }) });
  }

  /** Writes down what the engine's clock shows. To be called whenever it was set. */
  readClock(): Promise<void> {
    return readClock(this.#engine, this.#notes);
  }

  broken(error: unknown): void {
    this.errors.push(error);
  }
}
