import type { WorkerInfo } from "../../client/client.ts";
import type { FormerWorker } from "../../core/worker-entry.ts";
import { toFormerWire, toWorkerWire } from "../../http/wire/queue.ts";
import { defineCommand, toggle } from "../command.ts";
import { count } from "../../core/counted.ts";
import { age, NOTHING } from "../figures.ts";
import type { Column } from "../table.ts";

export const workers = defineCommand({
  about:
    "Shows the live workers of all processes: where they run, what they handle, and how busy they are. USE: how much of its slots a worker used in the last hour. With --former, those that stopped or were lost in the last 24 hours.",
  examples: ["millrace workers", "millrace workers --former", "millrace workers --json | jq .id"],
  options: {
    internal: toggle("include the internal workers of servers, for webhooks, bulk operations and http:request"),
    former: toggle("the workers that stopped or were lost in the last 24 hours"),
  },
  async run({ internal, former }, session) {
    if (former) {
      const gone = await session.withClient((client) => client.formerWorkers({ internal }));
      session.output.items(gone, toFormerWire, formerColumns(Date.now()), "no worker stopped or was lost in the last 24 hours");
      return;
    }
    const all = await session.withClient((client) => client.workers({ internal }));
    session.output.items(all, toWorkerWire, workerColumns(Date.now()), "no workers: jobs wait until you start one");
  },
});

const servedColumns: readonly Column<Pick<WorkerInfo, "queues" | "types" | "version">>[] = [
  { title: "VERSION", text: ({ version = NOTHING }) => version, shrinks: "middle", leaveOut: 6 },
  { title: "QUEUES", text: ({ queues }) => queues.join(", "), shrinks: "end", leaveOut: 4 },
  { title: "TYPES", text: ({ types }) => (types === "*" ? "any" : types.join(", ")), shrinks: "end" },
];

export function workerColumns(now: number): readonly Column<WorkerInfo>[] {
  return [
    { title: "WORKER", text: ({ id }) => id, shrinks: "middle" },
    { title: "HOST", text: ({ host, pid }) => `${host}:${pid}`, shrinks: "middle", atLeast: 10 },
    { title: "STATE", text: ({ state }) => state, style: ({ state }) => (state === "busy" ? "yellow" : undefined) },
    { title: "BUSY", text: ({ runningCount, slots }) => `${runningCount}/${slots}`, align: "right" },
    { title: "USE", text: ({ use }) => (use === undefined ? NOTHING : `${average(use.minutes)} %`), align: "right" },
    { title: "PER MINUTE", text: ({ perMinute }) => count(perMinute), align: "right", leaveOut: 7 },
    { title: "DONE", text: ({ processed }) => count(processed), align: "right", leaveOut: 5 },
    { title: "LAST SEEN", text: ({ heartbeatAt }) => age(heartbeatAt, now), align: "right" },
    ...servedColumns,
  ];
}

function average(shares: readonly number[]): number {
  return Math.round(shares.reduce((sum, share) => sum + share, 0) / Math.max(1, shares.length));
}

function formerColumns(now: number): readonly Column<FormerWorker>[] {
  return [
    { title: "WORKER", text: ({ id }) => id, shrinks: "middle" },
    { title: "HOST", text: ({ host, pid }) => `${host}:${pid}`, shrinks: "middle", atLeast: 10 },
    { title: "END", text: ({ end }) => end, style: ({ end }) => (end === "lost" ? "red" : undefined) },
    { title: "ENDED", text: ({ endedAt }) => age(endedAt, now), align: "right" },
    { title: "LAST SEEN", text: ({ heartbeatAt }) => age(heartbeatAt, now), align: "right" },
    { title: "RAN THEN", text: ({ runningCount }) => count(runningCount), align: "right" },
    { title: "DONE", text: ({ processed }) => count(processed), align: "right", leaveOut: 5 },
    ...servedColumns,
  ];
}
