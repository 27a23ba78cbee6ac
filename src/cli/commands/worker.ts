import type { Client, Leases } from "../../client/client.ts";
import { QueueBounds } from "../../client/queue-bounds.ts";
import { WORKER_SETTINGS, workOptions } from "../../config.ts";
import { ALL_QUEUES } from "../../core/delivery.ts";
import { MillraceError } from "../../core/errors.ts";
import { DEFAULT_QUEUE } from "../../core/queue.ts";
import { JobLines } from "../../observe/job-lines.ts";
import { type LeaseWatcher, watchLeases } from "../../observe/lease-watch.ts";
import { openLog, troubleLines } from "../../observe/log.ts";
import { stopOnSignals } from "../../worker/stop-on-signals.ts";
import { typesOf } from "../../client/handler-types.ts";
import { defineCommand, text } from "../command.ts";
import { CommandRefused } from "../exit-codes.ts";
import { counted } from "../../core/counted.ts";
import { HANDLERS, loadHandlers } from "../handlers-module.ts";
import type { Session } from "../session.ts";

export const worker = defineCommand({
  about:
    "Runs jobs until SIGTERM or Ctrl-C. It then takes no more jobs, lets handlers finish, and releases unfinished jobs. A second signal stops it at once.",
  examples: ["millrace worker --handlers ./jobs.ts --concurrency 20", "millrace worker --handlers ./jobs.ts --queues mail=3,default=1"],
  options: {
    handlers: HANDLERS,
    queues: text("<names>", "the queues to serve, separated by commas, with optional weights: mail=3,default=1 (default: default)"),
  },
  settings: WORKER_SETTINGS,
  async run(input, session) {
    if (input.handlers === undefined) throw new CommandRefused("--handlers is required: name a module, such as --handlers ./jobs.ts");
    const queues = readQueues(input.queues);
    const { config } = await session.settings(...WORKER_SETTINGS);
    const { handlers, backoffs } = await loadHandlers(input.handlers, session.terminal.cwd);
    const store = await session.storeName();
    const log = await openLog({ level: config.logLevel });
    process.once("exit", () => log.flush());
    const lines = new JobLines(log.logger);
    const first = firstExchange();
    const watching = { leases: (leases: Leases) => watchLeases(leases, [lines, first.watcher]), onLost: lines.lost.bind(lines) };
    const client = await session.openWorkingClient(watching, troubleLines(log.logger));
    try {
      await boundQueues(client, Object.keys(queues), config.queueCapacity, session);
      const { slots } = client.work(handlers, { ...workOptions(config), queues, backoffs });
      stopOnSignals(client, { grace: config.workerShutdownTimeout });
      session.announceStop(config.workerShutdownTimeout);
      await first.answered;
      const types = counted(typesOf(handlers).length, "type");
      session.output.message(
        `millrace: a worker for ${types} on ${store}, ${counted(slots, "slot")}, queues ${Object.keys(queues).join(", ")}`,
      );
    } catch (error) {
      await client.close();
      throw error;
    }
    // A signal ends the process with 0 when all has stopped, a second signal with 1.
    await new Promise<never>(() => {});
  },
});

/** Whether the worker runs: the store has answered it. A server that refuses the key will refuse it again, so that ends the command. */
function firstExchange(): { readonly answered: Promise<void>; readonly watcher: LeaseWatcher } {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const failed = (error: unknown): void => {
    if (error instanceof MillraceError && (error.code === "unauthorized" || error.code === "forbidden")) reject(error);
  };
  return { answered: promise, watcher: { exchanged: resolve, failed } };
}

/** `mail=3,default=1`, or names alone. The client refuses what is not a weight. */
function readQueues(given: string | undefined): Readonly<Record<string, number>> {
  const parts = (given ?? DEFAULT_QUEUE).split(",").map((part) => part.trim().split("="));
  return Object.fromEntries(parts.map(([name = "", weight = "1"]) => [name, Number(weight)]));
}

/** Queues get their capacity at the first enqueue. A worker enqueues nothing, so it sets the capacity when it starts. */
async function boundQueues(client: Client, queues: readonly string[], capacity: number | null, { output }: Session): Promise<void> {
  if (capacity === null) return;
  const setCapacity = (queue: string, own: number): Promise<void> => client.configure(queue, { capacity: own });
  const bounds = new QueueBounds(capacity, { queues: () => client.queues(), setCapacity }, (message) =>
    output.warn(`millrace: ${message}`),
  );
  for (const queue of queues.filter((name) => name !== ALL_QUEUES)) await bounds.ensure(queue);
}
