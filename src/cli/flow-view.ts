/** Flows and their members, for people. */
import type { Flow, FlowMember } from "../client/client.ts";
import { count } from "../core/counted.ts";
import { ALL_OTHERS, type FlowStatus } from "../core/flow.ts";
import { age, moment, NOTHING, took } from "./figures.ts";
import { STATUS_STYLES } from "./job-view.ts";
import type { Output } from "./output.ts";
import { safePrettyJson } from "./safe-text.ts";
import type { Column, Style } from "./table.ts";

const STYLES: Readonly<Record<FlowStatus, Style>> = { running: "yellow", completed: "green", failed: "red", cancelled: "gray" };

export function flowColumns(now: number): readonly Column<Flow>[] {
  return [
    { title: "ID", text: ({ id }) => id },
    { title: "STATUS", text: ({ status }) => status, style: ({ status }) => STYLES[status] },
    { title: "DONE", text: ({ completed, members }) => `${count(completed)} of ${count(members)}`, align: "right" },
    {
      title: "FAILED",
      text: ({ failed }) => count(failed),
      align: "right",
      style: ({ failed }) => (failed > 0 ? "red" : undefined),
      leaveOut: 2,
    },
    { title: "CANCELLED", text: ({ cancelled }) => count(cancelled), align: "right", leaveOut: 4 },
    { title: "STUCK", text: ({ stuck }) => count(stuck.count), align: "right", leaveOut: 3 },
    { title: "AGE", text: ({ createdAt }) => age(createdAt, now), align: "right", leaveOut: 1 },
    { title: "KEY", text: ({ key }) => key ?? NOTHING, shrinks: "middle", atLeast: 8, leaveOut: 5 },
  ];
}

export function memberColumns(now: number): readonly Column<FlowMember>[] {
  return [
    { title: "NAME", text: ({ name }) => name, shrinks: "middle", atLeast: 10 },
    { title: "STATUS", text: ({ status }) => status, style: ({ status }) => STATUS_STYLES[status] },
    { title: "AFTER", text: afterOf, shrinks: "end", atLeast: 10 },
    { title: "TYPE", text: ({ type }) => type, shrinks: "middle", atLeast: 10, leaveOut: 1 },
    { title: "QUEUE", text: ({ queue }) => queue, shrinks: "middle", leaveOut: 3 },
    { title: "TOOK", text: (member) => timeOf(member, now), align: "right", leaveOut: 2 },
    { title: "JOB", text: ({ jobId }) => jobId, leaveOut: 4 },
    { title: "ERROR", text: ({ error }) => (error === null ? NOTHING : error.message), shrinks: "end", atLeast: 10 },
  ];
}

function afterOf({ after, onFailure }: FlowMember): string {
  const names = after === ALL_OTHERS ? after : after.join(", ") || NOTHING;
  return onFailure === "cancel" ? names : `${names} (${onFailure})`;
}

function timeOf({ startedAt, endedAt }: FlowMember, now: number): string {
  return startedAt === null ? NOTHING : took((endedAt ?? now) - startedAt);
}

export function printFlow(flow: Flow, output: Output): void {
  const now = Date.now();
  const { stuck } = flow;
  const names = stuck.names.length < stuck.count ? [...stuck.names, output.mark] : stuck.names;
  const facts: readonly (readonly [name: string, value: string, style?: Style])[] = [
    ["id", flow.id],
    ["status", flow.status, STYLES[flow.status]],
    ["key", flow.key ?? NOTHING],
    ["members", count(flow.members)],
    ["completed", count(flow.completed)],
    ["failed", count(flow.failed), flow.failed > 0 ? "red" : undefined],
    ["cancelled", count(flow.cancelled)],
    ["open", count(flow.open)],
    ["stuck", stuck.count === 0 ? NOTHING : `${count(stuck.count)} (${names.join(", ")}): retry what they wait for`],
    ["created", moment(flow.createdAt, now)],
    ["ended", moment(flow.endedAt, now)],
    ["tags", flow.tags.join(", ") || NOTHING],
    ["webhook", flow.webhookUrl ?? NOTHING],
  ];
  for (const [name, value, style] of facts) if (value !== NOTHING) output.fact(name, value, style);
  if (flow.meta !== null) output.block("meta", safePrettyJson(flow.meta));
}
