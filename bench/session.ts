import type { Bare } from "./bare/bare.ts";
import { type Contest, type Entrant, hold, type NumberName } from "./contest.ts";
import type { Engine } from "./engines/engine.ts";
import type { Figure, Kind } from "./figure.ts";
import { type MillraceQueue, type MillraceSettings, openMillrace } from "./millrace-queue.ts";
import type { Place, Site } from "./places/place.ts";
import type { Purpose, Queue } from "./queue.ts";
import type { Tree } from "./tree.ts";

/** How long and how often everything is measured, and with how many jobs where the number matters. */
export interface Extent {
  readonly seconds: number;
  readonly rounds: number;
  /** Stored jobs when pages and a deep queue are measured. */
  readonly stored: number;
  /** Stored jobs when growth is measured, and jobs that come and go. */
  readonly grown: number;
  readonly turnovers: number;
}

/** What a scenario is measured with. */
export interface SessionParts {
  readonly engine: Engine;
  readonly site: Site;
  readonly scenario: string;
  /** This checkout first. */
  readonly trees: readonly [Tree, ...Tree[]];
  readonly withPeers: boolean;
  readonly extent: Extent;
  /** Progress, line by line. */
  readonly tell: (line: string) => void;
}

type Measure<Opened> = (opened: Opened, place: Place) => Promise<readonly number[]>;

/** The slowest entrants fill a store for much longer than they are timed. */
const LONGEST_RUN_MS = 120_000;
const LONGEST_RUN_SHARE = 20;

/** One scenario on one engine while its site is open: makes entrants of ours, the bare statements and the peers, each run on its own place. */
export class Session {
  readonly engine: Engine;
  readonly site: Site;
  readonly trees: SessionParts["trees"];
  readonly extent: Extent;
  readonly #scenario: string;
  readonly #withPeers: boolean;
  readonly #tell: SessionParts["tell"];

  constructor({ engine, site, scenario, trees, withPeers, extent, tell }: SessionParts) {
    this.engine = engine;
    this.site = site;
    this.trees = trees;
    this.extent = extent;
    this.#scenario = scenario;
    this.#withPeers = withPeers;
    this.#tell = tell;
  }

  contest(
    numbers: readonly NumberName[],
    entrants: readonly Entrant[],
    limits: Partial<Pick<Contest, "rounds" | "longestRunMs">> = {},
  ): Promise<Figure[]> {
    const { seconds, rounds } = this.extent;
    const longestRunMs = LONGEST_RUN_MS + seconds * 1000 * LONGEST_RUN_SHARE;
    const parts = { engine: this.engine.name, scenario: this.#scenario, tell: this.#tell };
    return hold({ ...parts, numbers, entrants, rounds, longestRunMs, ...limits });
  }

  /** Ours, and the same of the other checkout. */
  ours(measure: Measure<MillraceQueue>, settings?: MillraceSettings): Entrant[] {
    return this.ofTrees((tree) => this.onFresh((place) => openMillrace(tree, place, settings), measure));
  }

  /** Ours in another setting, which has a name of its own. */
  otherwise(name: string, measure: Measure<MillraceQueue>, { settings, site }: { settings?: MillraceSettings; site?: Site } = {}): Entrant {
    const run = () => this.onFresh((place) => openMillrace(this.trees[0], place, settings), measure, site);
    return { name, kind: "otherwise", run };
  }

  /** An entrant for each checkout. */
  ofTrees(run: (tree: Tree) => Promise<readonly number[]>): Entrant[] {
    return this.trees.map((tree, index) => {
      const [name, kind]: [string, Kind] = index === 0 ? ["Millrace", "ours"] : [tree.name, "before"];
      return { name, kind, run: () => run(tree) };
    });
  }

  bare(name: string, measure: Measure<Bare>): Entrant[] {
    const { openBare } = this.engine;
    return openBare === null ? [] : [{ name: `bare, ${name}`, kind: "bare", run: () => this.onFresh(openBare, measure) }];
  }

  peers(purpose: Purpose, measure: Measure<Queue>): Entrant[] {
    if (!this.#withPeers) return [];
    return this.engine.peers.map(({ name, open }) => ({
      name,
      kind: "peer",
      run: () => this.onFresh((place) => open(place, purpose), measure),
    }));
  }

  /** Opens something on a fresh place, and closes both. */
  async onFresh<Opened extends { close(): Promise<void> }, Answer>(
    open: (place: Place) => Promise<Opened>,
    use: (opened: Opened, place: Place) => Promise<Answer>,
    site: Site = this.site,
  ): Promise<Answer> {
    await using stack = new AsyncDisposableStack();
    const place = stack.adopt(await site.fresh(), (place) => place.close());
    const opened = stack.adopt(await open(place), (opened) => opened.close());
    return await use(opened, place);
  }

  /** For processes that open the store themselves. */
  onFreshUrl<Answer>(use: (url: string) => Promise<Answer>): Promise<Answer> {
    return this.onFresh(
      async () => ({ close: async () => {} }),
      (_, { url }) => use(url),
    );
  }
}
