import type { Client, WorkerHandle } from "../../src/client/client.ts";
import { clientOver } from "../../src/assembly/client-over.ts";
import { CRASH, FREEZE } from "../history/line.ts";
import type { Recorder } from "../history/recorder.ts";
import { recordingStore } from "../history/recording-store.ts";
import { scriptedHandler } from "./handler.ts";
import type { WorkerPlan } from "./plan.ts";
import { SimProcess } from "./process.ts";
import { enqueueChild } from "./producer.ts";
import type { Random } from "./random.ts";
import type { Stage } from "./stage.ts";
import { stopWorker } from "./stop-worker.ts";

/** A process that runs, with its client. */
export interface Running {
  readonly process: SimProcess;
  readonly client: Client;
  readonly recorder: Recorder;
  readonly workers: readonly WorkerHandle[];
}

/** What becomes of a process once it runs: producers and operators act from then on, until it ends. */
export type Role = (running: Running, random: Random) => Promise<void>;

/**
 * SOMETHING THAT IS KEPT RUNNING: a process that is started again when it has died, each time as another incarnation with clients, workers and
 * ids of its own, over the real code of client, worker and upkeep.
 */
export class Deployment {
  readonly name: string;
  readonly #stage: Stage;
  readonly #workers: readonly WorkerPlan[];
  readonly #role: Role | null;
  readonly #random: Random;
  #incarnation = 0;
  #running: Running | null = null;
  /** Between the order to stop and the end. */
  #isStopping = false;

  constructor(stage: Stage, name: string, workers: readonly WorkerPlan[], role: Role | null = null) {
    this.#stage = stage;
    this.name = name;
    this.#workers = workers;
    this.#role = role;
    this.#random = stage.random.fork(name);
  }

  get running(): Running | null {
    return this.#running;
  }

  start(): Running {
    const { timeline, plan } = this.#stage;
    const random = this.#random.fork(String(++this.#incarnation));
    const process = new SimProcess(`${this.name}.${this.#incarnation}`, timeline, random.int(-plan.skewMs, plan.skewMs));
    const recorder = this.#stage.recorder(process.name);
    const client = this.#connect(process, recorder, random);
    const workers = this.#workers.map((worker) => startWorker(this.#stage, { process, client, recorder }, worker));
    const running = { process, client, recorder, workers };
    this.#running = running;
    this.#isStopping = false;
    if (this.#role !== null) void this.#role(running, random.fork("role"));
    return running;
  }

  /** As kill -9 does it. */
  crash(): void {
    const { process } = this.#running!;
    process.kill();
    this.#running = null;
    this.#stage.fault(CRASH, process.name);
  }

  freeze(ms: number): void {
    const { process } = this.#running!;
    const { timeline } = this.#stage;
    process.freeze();
    this.#stage.fault(FREEZE, process.name, timeline.now + ms);
    timeline.after(ms, () => process.thaw());
  }

  get canStop(): boolean {
    return this.#running !== null && this.#running.process.state === "up" && !this.#isStopping;
  }

  /** As SIGTERM does it; `then` is called when the process has ended by itself. */
  stop(graceMs: number, then: () => void): void {
    const { client, workers, recorder, process } = this.#running!;
    this.#isStopping = true;
    const stop = async (worker: WorkerHandle): Promise<void> => {
      recorder.see("stopping", { worker: worker.id, graceMs });
      await stopWorker(worker, graceMs);
      recorder.see("stopped", { worker: worker.id });
    };
    const ended = (): void => {
      if (this.#running?.process === process) this.#running = null;
      process.kill();
      then();
    };
    Promise.all(workers.map(stop))
      .then(() => client.close({ grace: 0 }))
      .then(ended, (error: unknown) => this.#stage.broken(error));
  }

  #connect(process: SimProcess, recorder: Recorder, random: Random): Client {
    const { network, store, plan, plant } = this.#stage;
    const reached = network.reach(plant.storeFor?.(store, process) ?? store, process);
    return clientOver(recordingStore(reached, recorder), {
      clock: process.clock,
      random: random.fork("chance").next,
      fillRandom: random.fork("ids").fill,
      deadlineMs: plan.deadlineMs,
      upkeep: this.#workers.length > 0,
      pollMs: plant.pollMs ?? this.#workers[0]?.pollMs,
      onTrouble: () => {},
    });
  }
}

function startWorker(stage: Stage, { client, recorder, process }: Omit<Running, "workers">, plan: WorkerPlan): WorkerHandle {
  const { queues, types, slots, grows, leaseMs, pollMs, aheadMs } = plan;
  const handler = scriptedHandler(recorder, process.clock, {
    spawn: (parent) => enqueueChild(stage, client, recorder, parent),
    broken: (error) => stage.broken(error),
  });
  const handlers = Object.fromEntries((types === "*" ? ["*"] : types).map((type) => [type, handler]));
  const concurrency = grows ? { min: 1, max: slots } : slots;
  const worker = client.work(handlers, { queues, concurrency, lease: leaseMs, grace: 3_000, ahead: aheadMs });
  recorder.see("up", { worker: worker.id, slots, queues, types, leaseMs, pollMs });
  return worker;
}
