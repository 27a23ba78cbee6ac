import { memorySite } from "../places/memory.ts";
import type { Engine } from "./engine.ts";

/** No peer keeps jobs in memory, and there are no bare statements to compare with. */
export const memory: Engine = {
  name: "memory",
  title: "memory",
  openSite: memorySite,
  inFlight: 1,
  openBare: null,
  peers: [],
  isShared: false,
  variant: null,
};
