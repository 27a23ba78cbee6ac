/** What one case of the contract tests says: how a status of a route is provoked. */
import type { Client, CreatedFlow, LeasedJob } from "../../src/client/client.ts";
import type { ConnectOptions } from "../../src/connect.ts";
import type { ProblemCode } from "../../src/http/problem-codes.ts";
import type { Server, ServerOptions } from "../../src/http/server.ts";
import type { Asked } from "../unit/http/open-api.ts";

export interface Case {
  readonly status: number;
  /** Of the problem that is the answer. */
  readonly code?: ProblemCode;
  /** Makes what the request is about, and gives the request. */
  readonly ask: (world: World) => Asked | Promise<Asked>;
  /** What the server is told. */
  readonly server?: ServerOptions;
  /** The client that the server is given instead. */
  readonly over?: (client: Client) => Client;
  /** How the client is opened, where that matters. */
  readonly connect?: ConnectOptions;
  /** It is asked until the answer has this status, at most so often. A limit gives back what it took while a slow machine asks. */
  readonly times?: number;
  /** The request asks for a WebSocket. */
  readonly upgrade?: boolean;
  /** What is done to the server before it is asked. */
  readonly before?: (server: Server) => void;
}

/** An open store and sentences about what is in it. Each job has a queue of its own, so that cases do not meet. */
export class World {
  readonly client: Client;
  #made = 0;

  constructor(client: Client) {
    this.client = client;
  }

  name(what: string): string {
    return `${what}-${++this.#made}`;
  }

  async waiting(): Promise<string> {
    return (await this.client.enqueue("task", { n: 1 }, { queue: this.name("queue") })).id;
  }

  async later(): Promise<string> {
    return (await this.client.enqueue("task", null, { queue: this.name("queue"), delay: "1h" })).id;
  }

  async running(): Promise<LeasedJob> {
    const queue = this.name("queue");
    await this.client.enqueue("task", null, { queue });
    return this.#claim(queue);
  }

  async completed(): Promise<string> {
    const leased = await this.running();
    await this.#end(leased, "completed");
    return leased.job.id;
  }

  async dead(): Promise<string> {
    const leased = await this.running();
    await this.#end(leased, "dead");
    return leased.job.id;
  }

  /** A job whose handler waits for the signal `approval`, which must be an object with `by`. */
  async suspended(): Promise<string> {
    const { job, fence } = await this.running();
    const schema = { type: "object", required: ["by"], properties: { by: { type: "string" } } };
    const wait = {
      name: "approval",
      kind: "wait",
      state: "open",
      value: null,
      untilMs: 60_000,
      detail: JSON.stringify({ schema }),
    } as const;
    const outcome = { kind: "suspend", waits: [wait], calls: [] } as const;
    await this.client.leases.exchange([{ id: job.id, fence, outcome }], null);
    return job.id;
  }

  /** A flow of two members, the second after the first, whose first one runs. */
  async flow(): Promise<CreatedFlow & { readonly running: LeasedJob }> {
    const queue = this.name("queue");
    const flow = await this.client.flow([
      { name: "a", type: "task", queue },
      { name: "b", type: "task", queue, after: "a" },
    ]);
    return { ...flow, running: await this.#claim(queue) };
  }

  /** A flow of one member, which has ended so. */
  async endedFlow(outcome: "completed" | "dead", key?: string): Promise<CreatedFlow> {
    const queue = this.name("queue");
    const flow = await this.client.flow([{ name: "a", type: "task", queue }], { key });
    await this.#end(await this.#claim(queue), outcome);
    await this.client.flows.wait(flow.id);
    return flow;
  }

  /** A queue that takes no more. */
  async full(): Promise<string> {
    const queue = this.name("queue");
    await this.client.configure(queue, { capacity: 1 });
    await this.client.enqueue("task", null, { queue });
    return queue;
  }

  async schedule(queue = "default"): Promise<string> {
    const name = this.name("schedule");
    await this.client.schedules.upsert({ name, every: "1h", type: "task", payload: null, queue });
    return name;
  }

  async #claim(queue: string): Promise<LeasedJob> {
    const claim = { workerId: "w1", queues: [queue], types: "*", limit: 1, leaseMs: 60_000, turn: 1, again: false } as const;
    const { jobs } = await this.client.leases.exchange([], claim);
    return jobs[0]!;
  }

  async #end({ job, fence, facts }: LeasedJob, how: "completed" | "dead"): Promise<void> {
    const error = { name: "Error", message: "it broke", stack: null, kind: "error" } as const;
    const outcome =
      how === "completed" ? ({ kind: "completed", result: "1", runMs: 1 } as const) : ({ kind: "discard", error, runMs: 1 } as const);
    await this.client.leases.exchange([{ id: job.id, fence, outcome, facts }], null);
  }
}
