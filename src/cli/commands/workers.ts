import type { WorkerInfo } from "../../client/client.ts";
import { toWorkerWire } from "../../http/wire/queue.ts";
import { defineCommand, toggle } from "../command.ts";
import { count } from "../../core/counted.ts";
import { age } from "../figures.ts";
import type { Column } from "../table.ts";

/** Shows the workers that were heard of lately. */
export const workers = defineCommand({
  about: "Shows the workers of all processes that were heard of lately: where they run, what they take, and how busy they are.",
  examples: ["millrace workers", "millrace workers --json | jq .id"],
  options: { internal: toggle("also those that servers bring for webhooks, bulk operations and http:request") },
  async run({ internal }, session) {
    const all = await session.withClient((client) => client.workers({ internal }));
    const { output } = session;
    if (output.json) for (const worker of all) output.value(toWorkerWire(worker));
    else if (all.length === 0) output.talk("no workers: jobs wait until one starts");
    else output.table(workerColumns(Date.now()), all);
  },
});

/** The columns of a table of workers. */
export function workerColumns(now: number): readonly Column<WorkerInfo>[] {
  return [
    { title: "WORKER", text: ({ id }) => id, shrinks: true },
    { title: "HOST", text: ({ host, pid }) => `${host}:${pid}`, shrinks: true },
    { title: "STATE", text: ({ state }) => state, style: ({ state }) => (state === "busy" ? "yellow" : undefined) },
    { title: "BUSY", text: ({ runningCount, slots }) => `${runningCount}/${slots}`, align: "right" },
    { title: "A MINUTE", text: ({ perMinute }) => count(perMinute), align: "right" },
    { title: "DONE", text: ({ processed }) => count(processed), align: "right" },
    { title: "HEARD OF", text: ({ heartbeatAt }) => age(heartbeatAt, now), align: "right" },
    { title: "QUEUES", text: ({ queues }) => queues.join(", "), shrinks: true },
    { title: "TYPES", text: ({ types }) => (types === "*" ? "any" : types.join(", ")), shrinks: true },
  ];
}
