import * as measures from "../measures.ts";
import { openMillrace } from "../millrace-queue.ts";
import { onFresh } from "../places/place.ts";
import type { Figure } from "../report.ts";
import { percentileOf } from "../workload.ts";
import { askedFor, type Session } from "./session.ts";

const SHALLOW = 10_000;
const DEEP = 1_000_000;
const DRAINED = 20_000;

const STATS_CALLS = 50;
const STATS_MS = 20;

/** A deep queue must slow neither claims nor `stats`. It is filled once, and every round drains a part of it. */
export function depthFigures(session: Session): Promise<Figure[]> {
  const deep = session.jobs(DEEP);
  const drained = session.jobs(DRAINED);
  return onFresh(session.site, async (place) => {
    const queue = await openMillrace(place);
    try {
      await queue.fill(deep);
      const shallow = session.ours(async (queue) => {
        await queue.fill(SHALLOW + drained);
        return [await measures.drain(queue, 100, drained)];
      });
      const drain = await session.contest(
        `drain with ${inWords(deep)} waiting`,
        "jobs/s",
        async () => [await measures.drain(queue, 100, drained)],
        [{ name: `with ${inWords(SHALLOW)}`, run: shallow, atLeast: 0.85 }],
      );
      const stats = await session.contest(`stats with ${inWords(deep)} stored, p95`, "ms", async () => [await timeStats(queue)], [
        askedFor(STATS_MS, { atMost: 1 }),
      ]);
      return [...drain, ...stats];
    } finally {
      await queue.close();
    }
  });
}

async function timeStats({ client }: Awaited<ReturnType<typeof openMillrace>>): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < STATS_CALLS; call++) {
    const started = performance.now();
    await client.stats();
    times.push(performance.now() - started);
  }
  return percentileOf(times, 0.95);
}

const inWords = (jobs: number): string => jobs.toLocaleString("en-US");
