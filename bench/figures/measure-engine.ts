import type { Engine } from "../engines/engine.ts";
import type { Figure } from "../report.ts";
import { depthFigures } from "./depth.ts";
import { enqueueFigures } from "./enqueue.ts";
import { liveFigures } from "./live.ts";
import { httpFigures } from "./http.ts";
import { pageFigures } from "./pages.ts";
import { pickUpFigures } from "./pick-up.ts";
import { processFigures } from "./processes.ts";
import { Session, type SessionOptions } from "./session.ts";
import { sizeFigures } from "./size.ts";
import { variantFigures } from "./variant.ts";
import { workFigures } from "./work.ts";

const SUBJECTS = [
  enqueueFigures,
  variantFigures,
  workFigures,
  pickUpFigures,
  depthFigures,
  pageFigures,
  sizeFigures,
  processFigures,
  liveFigures,
  httpFigures,
];

/** The figures of an engine, one line about where it ran, and what could not be measured. */
export interface EngineFigures {
  readonly about: string;
  readonly figures: readonly Figure[];
  readonly failures: readonly unknown[];
}

/** Measures an engine, one subject after the other. Stops everything that it starts. */
export async function measureEngine(engine: Engine, options: SessionOptions): Promise<EngineFigures> {
  const site = await engine.openSite();
  try {
    const session = new Session(engine, site, options);
    const figures: Figure[] = [];
    const failures: unknown[] = [];
    for (const measure of SUBJECTS) {
      try {
        figures.push(...(await measure(session)));
      } catch (error) {
        failures.push(error);
      }
    }
    return { about: site.about, figures, failures };
  } finally {
    await site.close();
  }
}
