import { contest, type Contender, type Run } from "../contest.ts";
import type { Engine, Rival } from "../engines/engine.ts";
import type { Bare } from "../bare/bare.ts";
import { type MillraceQueue, openMillrace } from "../millrace-queue.ts";
import { onFresh, type Place, type Site } from "../places/place.ts";
import type { Peer, Queue } from "../queue.ts";
import type { Figure, Unit } from "../report.ts";

/** Options of the command line. */
export interface SessionOptions {
  readonly scale: number;
  readonly rounds: number;
  readonly withPeers: boolean;
}

const LEAST = 200;

/** One engine while its site is open: makes contenders of ours, the bare statements and the peers, each on its own place. */
export class Session {
  readonly engine: Engine;
  readonly site: Site;
  readonly rivals: readonly Rival[];
  readonly rounds: number;
  readonly #scale: number;

  constructor(engine: Engine, site: Site, { scale, rounds, withPeers }: SessionOptions) {
    this.engine = engine;
    this.site = site;
    this.rivals = withPeers ? engine.peers : [];
    this.rounds = rounds;
    this.#scale = scale;
  }

  /** The number of jobs at this scale, in whole hundreds. */
  jobs(atFullScale: number, least: number = LEAST): number {
    return Math.max(least, Math.round((atFullScale * this.#scale) / 100) * 100);
  }

  contest(
    what: string | readonly string[],
    unit: Unit,
    ours: Run,
    others: readonly (Contender | null)[],
    rounds: number = this.rounds,
  ): Promise<Figure[]> {
    return contest({
      engine: this.engine.name,
      what: typeof what === "string" ? [what] : what,
      unit,
      ours,
      others: others.filter((other) => other !== null),
      rounds,
    });
  }

  /** Ours on a fresh place. */
  ours(measure: (queue: MillraceQueue, place: Place) => Promise<readonly number[]>, site: Site = this.site): Run {
    return () => onFresh(site, (place) => closing(openMillrace(place), (queue) => measure(queue, place)));
  }

  bare(name: string, measure: (bare: Bare) => Promise<number>, asked: { atLeast?: number | undefined } = {}): Contender | null {
    const { openBare } = this.engine;
    if (openBare === null) return null;
    const run: Run = () => onFresh(this.site, (place) => closing(openBare(place), async (bare) => [await measure(bare)]));
    return { name: `bare, ${name}`, run, ...asked };
  }

  peer(
    peer: Peer,
    purpose: "throughput" | "latency",
    measure: (queue: Queue, place: Place) => Promise<readonly number[]>,
  ): Pick<Contender, "name" | "run"> {
    const run: Run = () => onFresh(this.site, (place) => closing(peer.open(place, purpose), (queue) => measure(queue, place)));
    return { name: peer.name, run };
  }
}

/** A requirement for the absolute figure, on any machine. */
export function askedFor(value: number | undefined, asked: { atLeast?: number; atMost?: number }): Contender | null {
  return value === undefined ? null : { name: "required", run: async () => [value], ...asked };
}

async function closing<Opened extends { close(): Promise<void> }, Answer>(
  opening: Promise<Opened>,
  run: (opened: Opened) => Promise<Answer>,
): Promise<Answer> {
  const opened = await opening;
  try {
    return await run(opened);
  } finally {
    await opened.close();
  }
}
