import { memorySite } from "../places/memory.ts";
import type { Engine } from "./engine.ts";

/** No peer keeps jobs in memory, and there are no bare statements to compare with. */
export const memory: Engine = {
  name: "memory",
  openSite: memorySite,
  inFlight: 1,
  openBare: null,
  peers: [],
  jobs: { oneCaller: 100_000, callers: 300_000, many: 300_000, drainTen: 200_000, drainHundred: 300_000, both: 200_000, processes: 0 },
  asked: { drain: 300_000 },
  variant: null,
  hasBytes: false,
  processes: "none",
};
