import { counted } from "../../core/counted.ts";
import { suggest } from "../../core/did-you-mean.ts";
import type { Event } from "../../core/event.ts";
import { toEventWire } from "../../http/wire/event.ts";
import { defineCommand, number, text, texts } from "../command.ts";
import { CommandRefused, EXIT, type ExitCode } from "../exit-codes.ts";
import { took } from "../figures.ts";
import type { Style } from "../table.ts";

const STYLES: Readonly<Record<Event["event"], Style | undefined>> = {
  "job:created": "cyan",
  "job:due": "cyan",
  "job:started": "yellow",
  "job:completed": "green",
  "job:failed": "magenta",
  "job:dead": "red",
  "flow:completed": "green",
  "flow:failed": "red",
  "flow:cancelled": "gray",
  "job:cancelled": "gray",
  "job:suspended": "gray",
  "job:resumed": "cyan",
  "job:retried": "cyan",
  "job:progress": undefined,
  "schedule:skipped": "yellow",
  "queue:paused": "yellow",
  "queue:resumed": "green",
  counts: "cyan",
  gap: "red",
};
const NAME_WIDTH = Math.max(...Object.keys(STYLES).map((name) => name.length));

export const tail = defineCommand({
  about:
    "Shows the events of all processes as they happen, until Ctrl-C. It shows no past events; a gap event means that some were missed.",
  examples: ["millrace tail", "millrace tail --event job:failed --event job:dead --json", "millrace tail --queue mail --limit 10"],
  options: {
    event: texts("<event>", "only this kind of event; separate several by commas", Object.keys(STYLES)),
    type: text("<type>", "only jobs of this type"),
    queue: text("<name>", "only events of this queue"),
    limit: number("stop after this many events"),
  },
  async run({ event, type, queue, limit }, session) {
    const { output } = session;
    const kinds = event?.flatMap((kind) => kind.split(","));
    const unknown = kinds?.find((kind) => !Object.hasOwn(STYLES, kind));
    if (unknown !== undefined) {
      throw new CommandRefused(`--event ${unknown}: there is no such event; ${suggest(unknown, Object.keys(STYLES), "events")}`);
    }
    const signal = session.interrupted();
    const store = await session.storeName();
    return session.withClient(async (client): Promise<ExitCode> => {
      const events = client.events({ signal });
      output.message(`listening to ${store}; press Ctrl-C to stop`);
      let seen = 0;
      for await (const event of events) {
        if (kinds !== undefined && !kinds.includes(event.event)) continue;
        if (type !== undefined && !("type" in event && event.type === type)) continue;
        if (queue !== undefined && !("queue" in event && event.queue === queue)) continue;
        if (output.json) output.value(toEventWire(event));
        else output.line(describe(event), STYLES[event.event]);
        if (++seen === limit) break;
      }
      return signal.aborted ? EXIT.interrupted : EXIT.ok;
    });
  },
});

function describe(event: Event): string {
  const time = new Date(event.at).toISOString().slice(11, 23);
  return [time, event.event.padEnd(NAME_WIDTH), subjectOf(event), detail(event)].filter((part) => part !== "").join("  ");
}

function subjectOf(event: Event): string {
  if ("jobId" in event) return `${event.jobId}  ${event.queue}  ${event.type}`;
  if ("flowId" in event) return event.flowId;
  return "queue" in event ? event.queue : "";
}

function detail(event: Event): string {
  switch (event.event) {
    case "job:started":
      return `attempt ${event.attempt} on ${event.workerId}`;
    case "job:completed":
      return `in ${took(event.durationMs)}`;
    case "job:failed":
      return `${event.error} (retries ${event.retryCount}, lost ${event.lostCount}; runs again at ${new Date(event.retryAt).toISOString()})`;
    case "job:dead":
      return event.error;
    case "job:suspended":
      return `at ${event.steps.join(", ")}`;
    case "job:resumed":
      return `by ${event.step}`;
    case "job:progress":
      return `${event.progress.percent} % ${event.progress.note ?? ""}`.trimEnd();
    case "flow:completed":
    case "flow:failed":
    case "flow:cancelled":
      return counted(event.members, "member");
    case "schedule:skipped":
      return `${event.schedule}: ${event.reason}`;
    case "counts":
      return event.counts.map(({ event: name, queue, count }) => `${name} ${queue} ${count}`).join(", ");
    case "gap":
      return event.missed === 0 ? "some events were missed" : counted(event.missed, "event was missed", "events were missed");
    default:
      return "";
  }
}
