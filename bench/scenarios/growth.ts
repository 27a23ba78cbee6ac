import { besideFew } from "./stored-many.ts";
import type { Scenario } from "./scenario.ts";

/** Engines that keep more on disk than fits into memory. */
export const ENGINES_ON_DISK: readonly string[] = ["sqlite", "postgres"];

/** Neither very many waiting jobs nor very many finished ones may slow a store down. */
export const growth: Scenario = {
  name: "growth",
  isOnPage: true,
  isLong: true,
  async measure(session) {
    if (!ENGINES_ON_DISK.includes(session.engine.name)) return [];
    const { grown } = session.extent;
    return [...(await besideFew(session, "waiting", grown)), ...(await besideFew(session, "finished", grown))];
  },
};
