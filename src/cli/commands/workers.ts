import type { WorkerInfo } from "../../client/client.ts";
import { toWorkerWire } from "../../http/wire/queue.ts";
import { defineCommand, toggle } from "../command.ts";
import { count } from "../../core/counted.ts";
import { age } from "../figures.ts";
import type { Column } from "../table.ts";

export const workers = defineCommand({
  about: "Shows the live workers of all processes: where they run, what they handle, and how busy they are.",
  examples: ["millrace workers", "millrace workers --json | jq .id"],
  options: { internal: toggle("include the internal workers of servers, for webhooks, bulk operations and http:request") },
  async run({ internal }, session) {
    const all = await session.withClient((client) => client.workers({ internal }));
    session.output.items(all, toWorkerWire, workerColumns(Date.now()), "no workers: jobs wait until you start one");
  },
});

export function workerColumns(now: number): readonly Column<WorkerInfo>[] {
  return [
    { title: "WORKER", text: ({ id }) => id, shrinks: true },
    { title: "HOST", text: ({ host, pid }) => `${host}:${pid}`, shrinks: true },
    { title: "STATE", text: ({ state }) => state, style: ({ state }) => (state === "busy" ? "yellow" : undefined) },
    { title: "BUSY", text: ({ runningCount, slots }) => `${runningCount}/${slots}`, align: "right" },
    { title: "PER MINUTE", text: ({ perMinute }) => count(perMinute), align: "right" },
    { title: "DONE", text: ({ processed }) => count(processed), align: "right" },
    { title: "LAST SEEN", text: ({ heartbeatAt }) => age(heartbeatAt, now), align: "right" },
    { title: "QUEUES", text: ({ queues }) => queues.join(", "), shrinks: true },
    { title: "TYPES", text: ({ types }) => (types === "*" ? "any" : types.join(", ")), shrinks: true },
  ];
}
