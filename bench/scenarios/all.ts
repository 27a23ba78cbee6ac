import { bulk } from "./bulk.ts";
import { churn } from "./churn.ts";
import { commandLine } from "./command-line.ts";
import { depth } from "./depth.ts";
import { drain } from "./drain.ts";
import { durable } from "./durable.ts";
import { enqueueAndDrain } from "./enqueue-and-drain.ts";
import { enqueue } from "./enqueue.ts";
import { events } from "./events.ts";
import { flows } from "./flows.ts";
import { growth } from "./growth.ts";
import { http } from "./http.ts";
import { limits } from "./limits.ts";
import { otherCallers } from "./other-callers.ts";
import { pages } from "./pages.ts";
import { pickUp } from "./pick-up.ts";
import { processes } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import { size } from "./size.ts";
import { urgent } from "./urgent.ts";
import { variant } from "./variant.ts";

/** In the order of the report. */
export const SCENARIOS: readonly Scenario[] = [
  enqueue,
  bulk,
  variant,
  drain,
  enqueueAndDrain,
  pickUp,
  urgent,
  otherCallers,
  processes,
  events,
  limits,
  durable,
  flows,
  size,
  depth,
  pages,
  http,
  commandLine,
  growth,
  churn,
];
