import type { Figure } from "../figure.ts";
import type { Session } from "../session.ts";

/** Something to measure on each engine. */
export interface Scenario {
  /** For `--only`. */
  readonly name: string;
  /** Whether docs/engines.md shows it. */
  readonly isOnPage: boolean;
  /** Takes so long that it must be asked for. */
  readonly isLong?: boolean;
  /** Returns nothing where it makes no sense for the engine. */
  measure(session: Session): Promise<Figure[]>;
}
