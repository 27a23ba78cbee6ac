import * as product from "./product.ts";
import type { Figure } from "./report.ts";

export async function benchMemory(scale: number): Promise<Figure[]> {
  const jobs = Math.round(300_000 * scale);
  const place = await product.openPlace("memory");
  const callers = await product.enqueue(place, 100, jobs);
  const drained = await product.drain(place, 100, jobs);
  await place.close();
  return [
    { engine: "memory", what: "enqueue, 100 callers", value: callers, unit: "jobs/s" },
    { engine: "memory", what: "drain, 100 slots", value: drained, unit: "jobs/s", beside: { what: "asked", value: 300_000 }, atLeast: 1 },
  ];
}
