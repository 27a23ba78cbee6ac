import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../src/client/client.ts";
import type { Recorder } from "../history/recorder.ts";
import type { Random } from "../simulation/random.ts";
import { flowFor } from "./jobs.ts";
import { createFlow } from "./programs/enqueue.ts";

const LONGEST_PAUSE_MS = 200;

/** Creates so many flows while harm is done, spread over that time; then those that are missing. A store that is away is asked again. */
export async function feedFlows(client: Client, recorder: Recorder, random: Random, count: number, overMs: number): Promise<void> {
  const pauseMs = Math.min(LONGEST_PAUSE_MS, overMs / Math.max(1, count));
  for (let number = 0, tries = 0; number < count; tries++) {
    if ((await createFlow(client, recorder, flowFor(random, `fed ${tries}`))) !== null) number++;
    await sleep(pauseMs);
  }
}
