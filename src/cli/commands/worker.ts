import type { Client, Leases } from "../../client/client.ts";
import { QueueBounds } from "../../client/queue-bounds.ts";
import { WORKER_SETTINGS, workOptions } from "../../config.ts";
import { formatDuration } from "../../core/duration.ts";
import { ALL_QUEUES } from "../../core/delivery.ts";
import { DEFAULT_QUEUE } from "../../core/queue.ts";
import { JobLines } from "../../observe/job-lines.ts";
import { watchLeases } from "../../observe/lease-watch.ts";
import { openLog, troubleLines } from "../../observe/log.ts";
import { stopOnSignals } from "../../worker/stop-on-signals.ts";
import { typesOf } from "../../client/handler-types.ts";
import { defineCommand, text } from "../command.ts";
import { CommandRefused } from "../exit-codes.ts";
import { counted } from "../../core/counted.ts";
import { loadHandlers } from "../handlers-module.ts";
import type { Session } from "../session.ts";

/** Runs jobs until it is told to stop. */
export const worker = defineCommand({
  about:
    "Runs jobs until it is told to stop by SIGTERM or Ctrl-C: then it takes no more jobs, lets handlers finish, and gives back what is left. A second signal ends it at once.",
  examples: ["millrace worker --handlers ./jobs.ts --concurrency 20", "millrace worker --handlers ./jobs.ts --queues mail=3,default=1"],
  options: {
    handlers: text("<file>", "a module that exports by default what client.work takes: type and handler"),
    queues: text("<names>", "the queues it takes jobs from, by comma, with weights as mail=3,default=1 (default: default)"),
  },
  settings: WORKER_SETTINGS,
  async run(input, session) {
    if (input.handlers === undefined) throw new CommandRefused("which handlers? Name a module with --handlers ./jobs.ts");
    const queues = readQueues(input.queues);
    const { config } = await session.settings(...WORKER_SETTINGS);
    const handlers = await loadHandlers(input.handlers, session.terminal.cwd);
    const store = await session.storeName();
    const log = await openLog({ level: config.logLevel });
    process.once("exit", () => log.flush());
    const lines = new JobLines(log.logger);
    const watching = { leases: (leases: Leases) => watchLeases(leases, [lines]), onLost: lines.lost.bind(lines) };
    const client = await session.openWorkingClient(watching, troubleLines(log.logger));
    try {
      await boundQueues(client, Object.keys(queues), config.queueCapacity, session);
      const { slots } = client.work(handlers, { ...workOptions(config), queues });
      stopOnSignals(client, { grace: config.workerShutdownTimeout });
      tellOfStop(config.workerShutdownTimeout, session);
      const types = counted(typesOf(handlers).length, "type");
      session.output.talk(
        `millrace: a worker for ${types} on ${store}, ${counted(slots, "slot")}, queues ${Object.keys(queues).join(", ")}`,
      );
    } catch (error) {
      await client.close();
      throw error;
    }
    // A signal ends the process: with 0 when all has stopped, with 1 if there is a second one.
    await new Promise<never>(() => {});
  },
});

/** `mail=3,default=1`, or names alone. What is no weight is handed on: the client refuses it. */
function readQueues(given: string | undefined): Readonly<Record<string, number>> {
  const parts = (given ?? DEFAULT_QUEUE).split(",").map((part) => part.trim().split("="));
  return Object.fromEntries(parts.map(([name = "", weight = "1"]) => [name, Number(weight)]));
}

/** A worker enqueues nothing, so the queues that it takes jobs from are given their capacity when it starts. */
async function boundQueues(client: Client, queues: readonly string[], capacity: number | null, { output }: Session): Promise<void> {
  if (capacity === null) return;
  const setCapacity = (queue: string, own: number): Promise<void> => client.configure(queue, { capacity: own });
  const bounds = new QueueBounds(capacity, { queues: () => client.queues(), setCapacity }, (message) =>
    output.warn(`millrace: ${message}`),
  );
  for (const queue of queues.filter((name) => name !== ALL_QUEUES)) await bounds.ensure(queue);
}

/** Who presses Ctrl-C should know what is waited for. */
function tellOfStop(graceMs: number, { output }: Session): void {
  const tell = (): void => {
    output.talk(`millrace: stopping; running jobs have ${formatDuration(graceMs)} to finish, and a second signal ends at once`);
  };
  process.once("SIGTERM", tell).once("SIGINT", tell);
}
