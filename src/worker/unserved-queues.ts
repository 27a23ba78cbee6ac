import { counted } from "../core/counted.ts";
import { servesQueue } from "../core/explain.ts";
import type { Trouble } from "../core/trouble.ts";

/**
 * What to tell about definitions whose queue the worker does not serve: one trouble for each queue. Their jobs go there, so this worker never gets
 * them. Another worker may, so this is no error.
 */
export function unservedQueues(byType: ReadonlyMap<string, string>, queues: readonly string[]): Trouble[] {
  const unserved = [...byType].filter(([, queue]) => !servesQueue({ queues }, queue));
  const groups = Map.groupBy(unserved, ([, queue]) => queue);
  return [...groups].map(([queue, types]) => {
    const [[first], ...others] = types as [[string, string], ...[string, string][]];
    const names = others.length === 0 ? `${first} is` : `${first} and ${counted(others.length, "more type")} are`;
    const all = [...queues, queue].map((name) => JSON.stringify(name));
    const remedy = `to run such jobs here, serve that queue too: queues: [${all.join(", ")}]`;
    return { kind: "setting", message: `the worker serves ${queues.join(", ")}, but ${names} defined for queue ${queue}: ${remedy}` };
  });
}
