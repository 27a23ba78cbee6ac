import type { Engine } from "./engines/engine.ts";
import type { Figure } from "./figure.ts";
import type { Scenario } from "./scenarios/scenario.ts";
import { Session, type SessionParts } from "./session.ts";

/** What is measured beside the engine and the scenario. */
export type RunParts = Pick<SessionParts, "trees" | "withPeers" | "extent" | "tell">;

/** The figures of an engine, one line about where it ran, and what could not be measured. */
export interface EngineRun {
  readonly about: string;
  readonly figures: readonly Figure[];
  readonly failures: readonly unknown[];
}

/** Measures one scenario after the other on an engine. Stops everything that it starts. */
export async function runEngine(engine: Engine, scenarios: readonly Scenario[], parts: RunParts): Promise<EngineRun> {
  await using stack = new AsyncDisposableStack();
  const site = stack.adopt(await engine.openSite(), (site) => site.close());
  const figures: Figure[] = [];
  const failures: unknown[] = [];
  for (const scenario of scenarios) {
    try {
      figures.push(...(await scenario.measure(new Session({ ...parts, engine, site, scenario: scenario.name }))));
    } catch (error) {
      parts.tell(`${engine.name}: ${scenario.name} failed`);
      failures.push(new Error(`${engine.name}: ${scenario.name} could not be measured`, { cause: error }));
    }
  }
  return { about: site.about, figures, failures };
}
