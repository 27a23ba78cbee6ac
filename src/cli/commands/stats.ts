import type { Stats } from "../../client/client.ts";
import { type Status, STATUSES } from "../../core/job.ts";
import { toStatsWire } from "../../http/wire/queue.ts";
import { defineCommand } from "../command.ts";
import { count, counted } from "../../core/counted.ts";
import { percentiles, rate } from "../figures.ts";
import type { Output } from "../output.ts";
import type { Column } from "../table.ts";

export const stats = defineCommand({
  about: "Shows how many jobs are in each status, totals, throughput, and how long jobs waited and ran.",
  examples: ["millrace stats", "millrace stats --json | jq .dead_count"],
  async run(_input, session) {
    const figures = await session.withClient((client) => client.stats());
    if (session.output.json) session.output.value(toStatsWire(figures));
    else print(figures, session.output);
  },
});

function print(figures: Stats, output: Output): void {
  output.fact("processed", `${count(figures.totalProcessed)} (${count(figures.today.processed)} today)`);
  output.fact("failed", `${count(figures.totalFailed)} (${count(figures.today.failed)} today)`);
  output.fact("retried", counted(figures.totalRetried, "attempt"));
  output.fact("dead", count(figures.deadCount), figures.deadCount > 0 ? "red" : undefined);
  output.fact("workers", count(figures.activeWorkers));
  output.fact("throughput", rate(figures.throughput));
  output.fact("waited", percentiles(figures.wait));
  output.fact("ran", percentiles(figures.latency));
  const { running, failed } = figures.flows;
  if (running + failed > 0) output.fact("flows", `${count(running)} running, ${count(failed)} failed`);
  const queues = Object.entries(figures.queues);
  if (queues.length === 0) return;
  output.line("");
  output.table(queueColumns(STATUSES), queues);
}

/** One queue of the statistics. */
export type QueueRow = [name: string, queue: Stats["queues"][string]];

export function queueColumns(statuses: readonly Status[]): readonly Column<QueueRow>[] {
  return [
    {
      title: "QUEUE",
      text: ([name, { paused }]) => (paused ? `${name} (paused)` : name),
      style: ([, { paused }]) => (paused ? "yellow" : undefined),
      shrinks: "middle",
    },
    ...statuses.map((status): Column<QueueRow> => ({
      title: status.toUpperCase(),
      text: ([, { counts }]) => count(counts[status]),
      align: "right",
      style: ([, { counts }]) => (status === "dead" && counts.dead > 0 ? "red" : undefined),
    })),
  ];
}
