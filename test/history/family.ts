import type { History } from "./history.ts";
import type { HealthFigures } from "./progress.ts";
import type { JobStory } from "./story.ts";
import type { Invariant, Report } from "./violation.ts";

export interface CheckOptions {
  /** How far two readings of one time may differ. */
  readonly epsilonMs: number;
  /** Whether durations mean something: on a virtual clock they do; on a busy machine they are only told. */
  readonly timed: boolean;
  /** So long may a claim overlook what has just come, or come back, and take what stands behind it. PostgreSQL may, when it is slow. */
  readonly overlookMs: number;
  /** So many starts more than its share may a key have, where claims beside each other pass over what another looks at. */
  readonly slackTurns: number;
  /** Told how long workers were healthy: a promise about healthy workers means nothing where none ever was. */
  readonly onHealth?: (figures: HealthFigures) => void;
}

/** What a family of checks is given. */
export interface Bench {
  readonly history: History;
  readonly report: Report;
  readonly options: CheckOptions;
}

/** A few invariants that look at the same things. */
export interface Family {
  readonly covers: readonly Invariant[];
  /** Begins a check. */
  readonly begin: (bench: Bench) => Watcher;
}

/** Sees every job once, then the end. */
export interface Watcher {
  job?(story: JobStory): void;
  /** Instead, for the job of a flow, which nobody runs. */
  flow?(story: JobStory): void;
  /** Instead, for one that may have been removed and made again: see reborn.ts. */
  reborn?(story: JobStory): void;
  end?(): void;
}
