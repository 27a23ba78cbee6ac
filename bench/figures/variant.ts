import * as measures from "../measures.ts";
import type { Figure } from "../report.ts";
import type { Session } from "./session.ts";

/** The cost of the engine's other set-up. */
export async function variantFigures(session: Session): Promise<Figure[]> {
  const { variant, jobs: counts } = session.engine;
  if (variant === null) return [];
  const jobs = session.jobs(counts.callers);
  const site = await variant.openSite();
  try {
    const enqueue = async (queue: Parameters<typeof measures.enqueue>[0]): Promise<number[]> => [await measures.enqueue(queue, 100, jobs)];
    const without = { name: "as above", run: session.ours(enqueue) };
    return await session.contest(`enqueue, 100 callers, ${variant.name}`, "jobs/s", session.ours(enqueue, site), [without]);
  } finally {
    await site.close();
  }
}
