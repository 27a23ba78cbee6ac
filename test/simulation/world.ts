import { createHash } from "node:crypto";
import type { Client } from "../../src/client/client.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { type Clock, sleep } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/open-store.ts";
import { checkHistory } from "../history/check-history.ts";
import { dumpStore, readTotals } from "../history/dump.ts";
import type { Line } from "../history/line.ts";
import { describeViolation, type Violation } from "../history/violation.ts";
import { Deployment } from "./deployment.ts";
import { RELEASE } from "./durable-plan.ts";
import { countingImmediates } from "./immediates.ts";
import { Nemesis } from "./nemesis.ts";
import { Network } from "./network.ts";
import { operator } from "./operator.ts";
import { planWorld, type WorldPlan } from "./plan.ts";
import { ProcessClock } from "./process.ts";
import { producer } from "./producer.ts";
import { Random } from "./random.ts";
import { isAtRest, waitedForJobs } from "./rest.ts";
import { type Plant, Stage } from "./stage.ts";
import { Timeline } from "./timeline.ts";

/** What is due must have ended so long after the last fault: the slowest jobs with all their retries, one after the other in a single slot. */
const BOUND_MS = 1_200_000;
/** Schedules go on for a while when all is well, to see that no tick is left out. */
const SCHEDULES_CALM_MS = 25_000;
/** So long after the last fault, jobs that were called are sent the signal that they wait for. */
const RELEASE_AFTER_MS = 20_000;
const TOTALS_EVERY_MS = 5_000;
const GRACE_MS = 3_000;

/** What became of a world. */
export interface WorldEnd {
  readonly seed: number;
  readonly plan: WorldPlan;
  readonly lines: readonly Line[];
  readonly violations: readonly Violation[];
  /** What should never happen in an actor. */
  readonly errors: readonly unknown[];
  readonly simulatedMs: number;
  readonly events: number;
}

/** Runs the world of a seed: chaos, then calm; then everything has ended, and the history is checked. */
export function runWorld(seed: number, plant: Plant = {}): Promise<WorldEnd> {
  return countingImmediates(async () => {
    const world = await World.open(seed, plant);
    await world.chaos();
    await world.calm();
    await world.stop();
    return world.end();
  });
}

class World {
  readonly #seed: number;
  readonly #stage: Stage;
  readonly #lines: Line[];
  readonly #deployments: Deployment[];
  readonly #caretaker: Deployment;
  readonly #nemesis: Nemesis;
  #releaseAt = Infinity;

  private constructor(seed: number, stage: Stage, lines: Line[], storeClock: ProcessClock) {
    const { plan } = stage;
    this.#seed = seed;
    this.#stage = stage;
    this.#lines = lines;
    this.#caretaker = new Deployment(stage, "caretaker", []);
    this.#deployments = [
      ...plan.workers.map((workers, index) => new Deployment(stage, `worker-${index}`, workers)),
      ...Array.from({ length: plan.producers }, (_, index) => new Deployment(stage, `producer-${index}`, [], producer(stage))),
      ...(plan.hasOperator ? [new Deployment(stage, "operator", [], operator(stage))] : []),
    ];
    this.#nemesis = new Nemesis(stage, this.#deployments, storeClock);
  }

  static async open(seed: number, plant: Plant): Promise<World> {
    const random = new Random(`world ${seed}`);
    const plan = planWorld(random.fork("plan"));
    const timeline = new Timeline();
    const storeClock = new ProcessClock(timeline, 0);
    const { deadlineMs, inFlight } = plan;
    const engine = await openStore("memory:", { clock: storeClock, deadlineMs });
    const lines: Line[] = [];
    const network = new Network({
      timeline,
      random: random.fork("network"),
      deadlineMs,
      inFlight,
      onFault: (what, who, forMs = 0) => stage.fault(what, who, timeline.now + forMs),
    });
    const stage: Stage = new Stage({
      plan,
      random,
      timeline,
      network,
      store: plant.store?.(engine, { timeline, random: random.fork("plant") }) ?? engine,
      engine,
      plant,
      write: (line) => void lines.push(line),
    });
    return new World(seed, stage, lines, storeClock);
  }

  async chaos(): Promise<void> {
    const { plan, timeline } = this.#stage;
    await this.#stage.readClock();
    const { client } = this.#caretaker.start();
    await this.#until(setUp(client, plan));
    for (const deployment of this.#deployments) deployment.start();
    this.#watchTotals();
    this.#nemesis.start();
    await timeline.run(plan.chaosMs);
  }

  async calm(): Promise<void> {
    const { notes, timeline, plan, plant } = this.#stage;
    const { boundMs = BOUND_MS } = plant;
    this.#nemesis.end();
    notes.see("calm", { boundMs });
    this.#releaseAt = timeline.now + RELEASE_AFTER_MS;
    const { client, process } = this.#caretaker.running!;
    await this.#until(this.#resumeAll(client));
    if (plan.schedules.length > 0) {
      await timeline.run(timeline.now + SCHEDULES_CALM_MS);
      await this.#until(Promise.all(plan.schedules.map(({ name }) => surely(() => client.schedules.pause(name)))));
    }
    const until = timeline.now + boundMs;
    await this.#drain(until, client, process.clock);
    // Whatever was still under way, or comes back to life, does so within a deadline or two; then it too comes to its end.
    await timeline.run(timeline.now + 15_000);
    await this.#drain(until, client, process.clock);
    if (!(await this.#isDrained())) this.#stage.broken(new Error("not everything has come to its end"));
  }

  async stop(): Promise<void> {
    const { timeline } = this.#stage;
    let left = 0;
    for (const deployment of [...this.#deployments, this.#caretaker]) {
      if (!deployment.canStop) continue;
      left++;
      deployment.stop(GRACE_MS, () => left--);
    }
    await timeline.run(timeline.now + 60_000, () => left === 0);
    if (left > 0) this.#stage.broken(new Error(`${left} processes did not stop`));
  }

  async end(): Promise<WorldEnd> {
    const { store, notes, timeline, plan, errors } = this.#stage;
    await dumpStore(store, notes);
    const violations = checkHistory(this.#lines, { timed: true, epsilonMs: 2 });
    return { seed: this.#seed, plan, lines: this.#lines, violations, errors, simulatedMs: timeline.now, events: timeline.happened };
  }

  /** Lets time go by until the promise is kept. */
  async #until(promise: Promise<unknown>): Promise<void> {
    const { timeline } = this.#stage;
    let isOver = false;
    promise.then(
      () => (isOver = true),
      (error: unknown) => {
        isOver = true;
        this.#stage.broken(error);
      },
    );
    await timeline.run(timeline.now + BOUND_MS, () => isOver);
  }

  async #drain(until: number, client: Client, clock: Clock): Promise<void> {
    while (this.#stage.timeline.now < until && !(await this.#isDrained())) {
      await this.#until(sleep(clock, 1_000));
      await this.#until(this.#resumeAll(client));
      if (this.#stage.timeline.now > this.#releaseAt) await this.#until(this.#releaseAll(client));
    }
  }

  async #releaseAll(client: Client): Promise<void> {
    const waitedFor = await waitedForJobs(this.#stage.store);
    await Promise.all(waitedFor.map((id) => surely(() => client.signal(id, RELEASE, "go on", { id: "caretaker" }))));
  }

  /** A call to pause a queue that was long under way may have its effect after all is well again. */
  async #resumeAll(client: Client): Promise<void> {
    const paused = (await this.#stage.store.queues()).filter((queue) => queue.paused);
    await Promise.all(paused.map(({ name }) => surely(() => client.resume(name))));
  }

  #isDrained(): Promise<boolean> {
    return isAtRest(this.#stage.store);
  }

  #watchTotals(): void {
    const { timeline, store, notes } = this.#stage;
    void readTotals(store, notes);
    timeline.after(TOTALS_EVERY_MS, () => this.#watchTotals());
  }
}

/** Before anything can go wrong: what a deployment script would do. */
async function setUp(client: Client, { queues, schedules }: WorldPlan): Promise<void> {
  for (const [queue, options] of Object.entries(queues)) await client.configure(queue, options);
  for (const schedule of schedules) await client.schedules.upsert(schedule);
}

/** Again and again until it is done: the first tries may meet what is left of the chaos. */
async function surely(run: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await run();
      return;
    } catch (error) {
      if (error instanceof MillraceError && (error.code === "not_found" || error.code === "wrong_status")) return;
      if (!(error instanceof MillraceError && error.code === "store_unavailable")) throw error;
    }
  }
}

/** What is wrong with a world, in words; empty when nothing is. */
export function complaintsOf({ violations, errors, lines }: WorldEnd): string[] {
  return [
    ...errors.map((error) => `an actor met ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
    ...violations.map((violation) => describeViolation(violation, (line) => JSON.stringify(lines[line - 1]))),
  ];
}

/** A print of the whole history: the same seed gives the same. */
export function hashOf(lines: readonly Line[]): string {
  const hash = createHash("sha256");
  for (const line of lines) hash.update(JSON.stringify(line));
  return hash.digest("hex");
}
