import { MINUTE_MS } from "../../src/core/time-units.ts";
import { percentileOf, sampleFor, timeOf } from "../measure/sample.ts";
import { openMillrace } from "../millrace-queue.ts";
import { loadServer } from "../tree.ts";
import { PLACEHOLDERS, requestsOf, senderOf } from "./page-requests.ts";
import { stock } from "./page-stock.ts";
import type { Scenario } from "./scenario.ts";
import { inWords } from "./stored-many.ts";

/** There are many requests, so each is measured for a part of the time. */
const SHARE_OF_TIME = 0.1;
/** Most of it is the making of the stock. */
const LONGEST_MS = 60 * MINUTE_MS;

/** The requests of the dashboard: none may become slow when many jobs are stored. One round is enough. */
export const pages: Scenario = {
  name: "pages",
  isOnPage: false,
  async measure(session) {
    if (!session.engine.isShared) return [];
    const { stored, seconds } = session.extent;
    const ours = session.ofTrees((tree) =>
      session.onFreshUrl(async (url) => {
        const found = await stock({ url }, stored);
        const queue = await openMillrace(tree, { url });
        try {
          const { createServer } = await loadServer(tree.folder);
          const { fetch } = createServer(queue.client, { open: true });
          const times: number[] = [];
          for (const request of requestsOf(found)) {
            const send = await senderOf(fetch, request);
            times.push(percentileOf(await sampleFor(seconds * SHARE_OF_TIME, () => timeOf(send)), 0.95));
          }
          return times;
        } finally {
          await queue.close();
        }
      }),
    );
    const numbers = requestsOf(PLACEHOLDERS).map(({ name }) => ({ what: `${name}, ${inWords(stored)} stored, p95`, unit: "ms" }) as const);
    return session.contest(numbers, ours, { rounds: 1, longestRunMs: LONGEST_MS });
  },
};
