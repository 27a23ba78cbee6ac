/** THE HOOKS OF A CLIENT: who listens to the jobs that its workers run, and what is around its enqueue and its handlers. */
import { counted } from "../core/counted.ts";
import { invalid, messageOf, printable } from "../core/errors.ts";
import { checkListener, JOB_EVENTS, listenerFailed } from "../core/hook-events.ts";
import { isInternalQueue } from "../core/internal.ts";
import type { JobOptions } from "../core/job-options.ts";
import type { LostLease } from "../core/lease.ts";
import { readFields } from "../core/read-fields.ts";
import type { OnTrouble, Trouble } from "../core/trouble.ts";
import { Emitter } from "../lib/emitter.ts";
import type { Client, HandleMiddleware, HeardJob, Hooks, JobEvents, Listener, Middleware, PlainClient } from "./client.ts";
import { EnqueueChain } from "./enqueue-chain.ts";

export interface HooksOptions {
  /** Must not throw. */
  readonly onTrouble: OnTrouble;
  /** Report each job that failed for good as a trouble. Not for a process that logs its jobs, nor for tests. */
  readonly tellsDead: boolean;
}

/** What counts for the client, and stops when it has closed. */
interface MetricsOfClient {
  text(client: PlainClient): Promise<string>;
  stop(): void;
}

const MAX_ERROR_LENGTH = 200;

export class ClientHooks implements Hooks {
  readonly middleware: HandleMiddleware[] = [];
  readonly #events: Emitter<JobEvents>;
  readonly #options: HooksOptions;
  #chain: EnqueueChain | null = null;

  constructor(options: HooksOptions) {
    this.#options = options;
    this.#events = new Emitter(messageOf, (event, error) => options.onTrouble(listenerFailed(event, error)));
  }

  /** Makes the client one with hooks and metrics. `defaults` are its defaults for jobs. */
  join(client: PlainClient, defaults: JobOptions | undefined, metrics: MetricsOfClient): Client {
    const close = client.close.bind(client);
    return Object.assign(client, {
      on: <Name extends keyof JobEvents>(event: Name, listener: Listener<JobEvents[Name]>) => {
        checkListener(event, JOB_EVENTS, listener);
        return this.#events.on(event, listener);
      },
      use: (middleware: Middleware) => this.#use(client, middleware, defaults),
      metrics: () => metrics.text(client),
      close: (closeOptions?: Parameters<Client["close"]>[0]) => close(closeOptions).finally(() => metrics.stop()),
    });
  }

  /** Only the first middleware for enqueue replaces the methods of the client: without one they cost nothing more. */
  #use(client: PlainClient, middleware: Middleware, defaults: JobOptions | undefined): void {
    const { enqueue, handle } = readMiddleware(middleware);
    if (handle !== undefined) this.middleware.push(handle);
    if (enqueue === undefined) return;
    if (this.#chain === null) {
      const chain = new EnqueueChain(client, defaults);
      this.#chain = chain;
      Object.assign(client, {
        enqueue: chain.enqueue.bind(chain) as Client["enqueue"],
        enqueueMany: chain.enqueueMany.bind(chain) as Client["enqueueMany"],
      } satisfies Partial<Client>);
    }
    this.#chain.add(enqueue);
  }

  hears(event: keyof JobEvents): boolean {
    return this.#events.hears(event) || (event === "dead" && this.#options.tellsDead);
  }

  emit<Name extends keyof JobEvents>(event: Name, ...about: JobEvents[Name]): void {
    this.#events.emit(event, ...about);
    const [job, error] = about;
    if (event === "dead" && this.#options.tellsDead) this.#options.onTrouble(deadJob(job, error));
  }

  /** Upkeep found leases that ran out. A live worker of this client has told of its own; nobody else tells that such a job is dead. */
  async found(lost: readonly LostLease[], get: Client["get"], isOwn: (workerId: string) => boolean): Promise<void> {
    if (!this.hears("lost") && !this.hears("dead")) return;
    for (const { id, queue, workerId, to } of lost) {
      const isTold = workerId !== null && isOwn(workerId);
      const isDead = to === "dead" || to === "failed";
      if (isInternalQueue(queue) || (isTold && !isDead)) continue;
      // If it cannot be read, or somebody has removed it, there is nothing to tell.
      const job = await get(id).catch(() => null);
      if (job === null) continue;
      const { name, message } = job.error ?? { name: "LeaseLost", message: "the lease ran out" };
      const error = Object.assign(new Error(message), { name });
      if (!isTold) this.emit("lost", job, error);
      if (isDead) this.emit("dead", job, error);
    }
  }
}

/** One line: which job, why, and where to look. */
function deadJob({ id, type, attempt, error: stored }: HeardJob, error: Error | undefined): Trouble {
  const [reason = ""] = `${stored?.name}: ${stored?.message}`.split("\n", 1);
  const what = `job ${id} of type ${type} failed for good after ${counted(attempt, "attempt")}`;
  const where = `Its stack and history: \`millrace status ${id}\`, client.get, or the dashboard`;
  return { kind: "dead", message: `${what}: ${printable(reason, MAX_ERROR_LENGTH)}. ${where}`, error };
}

function readMiddleware(given: Middleware): Middleware {
  const { enqueue, handle } = readFields(given, "middleware", ["enqueue", "handle"]) as Middleware;
  for (const [name, part] of Object.entries({ enqueue, handle })) {
    if (part !== undefined && typeof part !== "function") throw invalid(`middleware.${name}`, "a function", part);
  }
  if (enqueue === undefined && handle === undefined) throw invalid("middleware", "an object with enqueue, handle or both", given);
  return { enqueue, handle };
}
