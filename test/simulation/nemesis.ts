import type { Deployment } from "./deployment.ts";
import type { ProcessClock } from "./process.ts";
import type { FaultName } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Stage } from "./stage.ts";

/** How much time passes between two deeds of the nemesis, on average. */
const PAUSE_MS = 2_500;
const GRACE_MS = 3_000;

type Deed = (nemesis: Nemesis) => void;

/** Faults that are done to somebody at a moment. The others are a matter of the weather. */
const DEEDS: Partial<Record<FaultName, Deed>> = {
  crash: (nemesis) => nemesis.crash(),
  freeze: (nemesis) => nemesis.freeze(),
  redeploy: (nemesis) => nemesis.redeploy(),
  outage: (nemesis) => nemesis.outage(),
  "cut-off": (nemesis) => nemesis.cutOff(),
  "store-clock": (nemesis) => nemesis.stepStoreClock(),
  "process-clock": (nemesis) => nemesis.stepProcessClock(),
};

/** WHO TRIES TO BREAK IT, until it is told to end. */
export class Nemesis {
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #deployments: readonly Deployment[];
  readonly #storeClock: ProcessClock;
  readonly #deeds: readonly Deed[];
  #isOver = false;

  constructor(stage: Stage, deployments: readonly Deployment[], storeClock: ProcessClock) {
    this.#stage = stage;
    this.#random = stage.random.fork("nemesis");
    this.#deployments = deployments;
    this.#storeClock = storeClock;
    this.#deeds = [...stage.plan.faults].flatMap((fault) => DEEDS[fault] ?? []);
  }

  start(): void {
    this.#stage.network.weather = this.#stage.plan.weather;
    if (this.#deeds.length > 0) this.#next();
  }

  /** Makes good what can be made good: who is down comes back, who is frozen goes on. */
  end(): void {
    this.#isOver = true;
    this.#stage.network.heal();
    for (const deployment of this.#deployments) {
      deployment.running?.process.thaw();
      startIfDown(deployment);
    }
  }

  #next(): void {
    this.#after(PAUSE_MS * 2 * this.#random.next(), () => {
      this.#random.pick(this.#deeds)(this);
      this.#next();
    });
  }

  /** Nothing that was put off happens once it is over. */
  #after(ms: number, run: () => void): void {
    this.#stage.timeline.after(ms, () => {
      if (!this.#isOver) run();
    });
  }

  // ── Deeds ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  crash(): void {
    const victim = this.#victim();
    if (victim === null) return;
    victim.crash();
    this.#restart(victim, 5_000 * this.#random.next());
  }

  /** For a moment, or for longer than a lease lasts. */
  freeze(): void {
    const victim = this.#victim();
    if (victim?.running?.process.state === "up")
      victim.freeze(this.#random.pick([200, 1_500, 6_000, 16_000]) * (0.5 + this.#random.next()));
  }

  redeploy(): void {
    const victim = this.#victim();
    if (victim?.canStop !== true) return;
    // What was stopped comes back also when all is over by then.
    victim.stop(this.#random.pick([0, 500, GRACE_MS]), () => this.#stage.timeline.after(100, () => startIfDown(victim)));
  }

  /** Calls that were begun meanwhile may wait until their deadline. */
  outage(): void {
    const { network, timeline, plan } = this.#stage;
    const ms = this.#random.pick([300, 2_000, 8_000]);
    network.goDown();
    this.#stage.fault("outage", null, timeline.now + ms + plan.deadlineMs);
    this.#after(ms, () => network.comeUp());
  }

  cutOff(): void {
    const { network, timeline, plan } = this.#stage;
    const process = this.#victim()?.running?.process.name;
    if (process === undefined) return;
    const ms = this.#random.pick([500, 3_000, 12_000]);
    network.cutOff(process);
    this.#stage.fault("cut-off", process, timeline.now + ms + plan.deadlineMs);
    this.#after(ms, () => network.join(process));
  }

  stepStoreClock(): void {
    this.#storeClock.step(this.#random.pick([-60_000, -3_000, -400, 400, 3_000, 60_000]));
    this.#stage.fault("store-clock", null);
    void this.#stage.readClock();
  }

  stepProcessClock(): void {
    const process = this.#victim()?.running?.process;
    if (process === undefined) return;
    process.clock.step(this.#random.pick([-3_600_000, -5_000, 5_000, 3_600_000]));
    this.#stage.fault("process-clock", process.name);
  }

  #victim(): Deployment | null {
    const running = this.#deployments.filter((deployment) => deployment.running !== null);
    return running.length === 0 ? null : this.#random.pick(running);
  }

  #restart(deployment: Deployment, afterMs: number): void {
    this.#after(afterMs, () => startIfDown(deployment));
  }
}

function startIfDown(deployment: Deployment): void {
  if (deployment.running === null) deployment.start();
}
