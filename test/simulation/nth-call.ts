/**
 * THE N-TH CALL FAILS. One process does a fixed piece of work, from setting up queues to purging the dead; one of its calls of the store
 * fails, before or after it took effect, and all others succeed. Whichever it is, everything must come to its end.
 */
import type { Client, FlowMemberInput, JobInput } from "../../src/client/client.ts";
import { clientOver } from "../../src/assembly/client-over.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { type Clock, sleep } from "../../src/lib/clock.ts";
import type { Store } from "../../src/store/store.ts";
import { checkHistory } from "../history/check-history.ts";
import { dumpStore, readClock } from "../history/dump.ts";
import type { Line } from "../history/line.ts";
import { Recorder } from "../history/recorder.ts";
import { recordingStore } from "../history/recording-store.ts";
import { describeViolation } from "../history/violation.ts";
import type { Part } from "./durable.ts";
import { SIGNAL } from "./durable-plan.ts";
import { type Script, scriptedHandler, type Step } from "./handler.ts";
import { countingImmediates } from "./immediates.ts";
import { ProcessClock, SimProcess } from "./process.ts";
import { Random } from "./random.ts";
import { isAtRest } from "./rest.ts";
import { Timeline } from "./timeline.ts";
import { stopWorker } from "./stop-worker.ts";

/** Which call fails, and whether the store has done it by then. */
export interface NthFault {
  readonly call: number;
  readonly when: "before" | "after";
}

/** How it went. */
export interface NthEnd {
  /** How many calls there were, and the verb of the one that failed. */
  readonly calls: number;
  readonly verb: string | null;
  readonly complaints: readonly string[];
}

const SLOWLY = { promote: 1_000, reclaim: 2_000, recur: 5_000, prune: 5_000, rerank: 60_000 };
const LEASE_MS = 3_000;
const GRACE_MS = 2_000;
/** Everything that is done by itself is done by then. */
const BOUND_MS = 60_000;

/** Does the work on a store that is opened with the given clock. */
export function runScript(open: (clock: Clock) => Promise<Store>, fault: NthFault | null): Promise<NthEnd> {
  return countingImmediates(async () => {
    const timeline = new Timeline();
    const store = await open(new ProcessClock(timeline, 0));
    try {
      return await new ScriptedRun(timeline, store, fault).run();
    } finally {
      await store.close();
    }
  });
}

class ScriptedRun {
  readonly #timeline: Timeline;
  readonly #store: Store;
  readonly #failing: FailingStore;
  readonly #lines: Line[] = [];
  readonly #errors: unknown[] = [];

  constructor(timeline: Timeline, store: Store, fault: NthFault | null) {
    this.#timeline = timeline;
    this.#store = store;
    this.#failing = new FailingStore(store, fault);
  }

  async run(): Promise<NthEnd> {
    const notes = this.#recorder("world");
    await readClock(this.#store, notes);
    const process = new SimProcess("main.1", this.#timeline, 0);
    const recorder = this.#recorder(process.name);
    const random = new Random("script");
    const client = clientOver(recordingStore(this.#failing.store, recorder), {
      clock: process.clock,
      random: random.fork("chance").next,
      fillRandom: random.fork("ids").fill,
      restsMs: SLOWLY,
      pollMs: 2_000,
      onTrouble: () => {},
    });
    await this.#until(this.#work(client, recorder, process.clock));
    notes.see("calm", { boundMs: 0 });
    await this.#until(client.close({ grace: GRACE_MS }));
    await dumpStore(this.#store, notes);
    const violations = checkHistory(this.#lines, { timed: false, epsilonMs: 2 });
    const complaints = violations.map((violation) => describeViolation(violation, (line) => JSON.stringify(this.#lines[line - 1])));
    return { calls: this.#failing.calls, verb: this.#failing.failed, complaints: [...this.#errors.map(String), ...complaints] };
  }

  async #work(client: Client, recorder: Recorder, clock: Clock): Promise<void> {
    await this.#doAll(steps(client), clock);
    const handlers = { "*": scriptedHandler(recorder, clock) };
    const worker = client.work(handlers, { queues: ["default", "small"], concurrency: 3, lease: LEASE_MS, grace: GRACE_MS });
    const queues = ["default", "small"];
    recorder.see("up", { worker: worker.id, slots: 3, queues, types: "*", leaseMs: LEASE_MS, pollMs: 2_000 });
    await this.#doAll(stepsWhileItWorks(client), clock);
    const until = clock.monotonic() + BOUND_MS;
    while (clock.monotonic() < until && !(await this.#isDrained())) await sleep(clock, 500);
    recorder.see("stopping", { worker: worker.id, graceMs: GRACE_MS });
    await stopWorker(worker, GRACE_MS);
    recorder.see("stopped", { worker: worker.id });
  }

  /** One after the other, with a pause after each. What fails for the one fault there is, is done again once, as a person would. */
  async #doAll(all: readonly (() => Promise<unknown>)[], clock: Clock): Promise<void> {
    for (const step of all) {
      for (let tries = 0; tries < 2; tries++) {
        try {
          await step();
          break;
        } catch (error) {
          if (!(error instanceof MillraceError && EXPECTED.has(error.code))) this.#errors.push(error);
          if (!(error instanceof MillraceError && error.code === "store_unavailable")) break;
        }
      }
      await sleep(clock, 100);
    }
  }

  #isDrained(): Promise<boolean> {
    return isAtRest(this.#store);
  }

  async #until(promise: Promise<unknown>): Promise<void> {
    let isOver = false;
    promise.then(
      () => (isOver = true),
      (error: unknown) => {
        isOver = true;
        this.#errors.push(error);
      },
    );
    await this.#timeline.run(this.#timeline.now + 10 * BOUND_MS, () => isOver);
    if (!isOver) this.#errors.push(new Error("it did not come to its end"));
  }

  #recorder(by: string): Recorder {
    return new Recorder({ by, now: () => this.#timeline.now, write: (line) => void this.#lines.push(line) });
  }
}

/** What the rules may refuse where a call took effect and was done again. */
const EXPECTED: ReadonlySet<string> = new Set(["store_unavailable", "wrong_status", "not_found", "queue_full", "key_conflict"]);

// ── The work ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function job(tag: string, steps: readonly Step[], options: Omit<JobInput, "type" | "payload"> = {}): JobInput & { readonly type: string } {
  const payload: Script = { tag, steps };
  return { type: "task", payload, maxRetries: 2, retryDelay: 200, ...options };
}

function steps(client: Client): (() => Promise<unknown>)[] {
  const enqueue = ({ type, payload, ...options }: ReturnType<typeof job>) => {
    return (): Promise<unknown> => client.enqueue(type, payload, options);
  };
  return [
    () => client.configure("small", { capacity: 2, deadLetters: false }),
    () => client.configure("default", { retention: { age: 3_000, count: 100, keepAtLeast: 1_000 } }),
    () => client.schedules.upsert({ name: "tick", every: 2_000, type: "task", payload: { steps: [["ok", 10]] } }),
    enqueue(job("plain", [["ok", 50]])),
    enqueue(job("keyed", [["ok", 50]], { idempotencyKey: "k" })),
    enqueue(job("keyed", [["ok", 50]], { idempotencyKey: "k" })),
    enqueue(job("other", [["ok", 50]], { idempotencyKey: "k" })),
    enqueue(job("later", [["ok", 50]], { delay: 1_500 })),
    enqueue(job("urgent", [["ok", 50]], { priority: "critical" })),
    enqueue(job("doomed", [["discard", 50]])),
    () => client.enqueueMany(["one", "two", "three"].map((tag) => job(tag, [["notes", 30]], { queue: "small" }))),
    cancelFirst(client, "pending"),
    () => client.pause("default"),
    () => client.resume("default"),
  ];
}

function stepsWhileItWorks(client: Client): (() => Promise<unknown>)[] {
  const enqueue = (each: ReturnType<typeof job>) => (): Promise<unknown> => client.enqueueMany([each]);
  return [
    enqueue(
      job("failing", [
        ["throw", 20],
        ["throw", 20],
        ["ok", 20],
      ]),
    ),
    enqueue(job("hopeless", [["throw", 20]], { maxRetries: 1 })),
    enqueue(
      job("snoozing", [
        ["snooze", 20, 1_000],
        ["ok", 20],
      ]),
    ),
    enqueue(job("slow", [["ok", 4_000]])),
    enqueue(job("stopped", [["ok", 4_000]], { tags: ["stop me"] })),
    enqueue(durable("durable")),
    signalFirst(client),
    () => client.flow(FLOW, { key: "flow" }),
    enqueue(job("too slow", [["ok", 4_000]], { timeout: 500, maxRetries: 0 })),
    cancelFirst(client, "running"),
    () => client.stats(),
    () => client.dead.retry(),
    retryFlow(client),
    () => client.schedules.run("tick"),
    () => client.schedules.pause("tick"),
    removeFirst(client),
    () => client.schedules.remove("tick"),
  ];
}

/** A step, a sleep, a wait and a call. */
function durable(tag: string): ReturnType<typeof job> {
  const called = {
    step: "part",
    type: "task",
    payload: { tag: `part of ${tag}`, steps: [["ok", 10] as const] },
    options: { queue: "small" },
  };
  const parts: Part[] = [
    { do: "step", name: "one", ms: 20 },
    { do: "sleep", name: "nap", ms: 300 },
    { do: "wait", name: SIGNAL, timeoutMs: null },
    { do: "call", call: called },
    { do: "step", name: "two", ms: 20 },
  ];
  const plain = job(tag, [["ok", 10]]);
  return { ...plain, payload: { ...(plain.payload as Script), durable: { parts, isTolerant: false } }, tags: ["durable"] };
}

/** Two members in two queues. The first one dies once. */
const FLOW: readonly FlowMemberInput[] = [
  {
    name: "first",
    type: "task",
    payload: {
      steps: [
        ["discard", 10],
        ["ok", 10],
      ],
    } satisfies Script,
  },
  { name: "last", after: "*", type: "task", queue: "small", payload: { steps: [["ok", 10]] } satisfies Script },
];

function retryFlow(client: Client): () => Promise<unknown> {
  return async () => {
    const { flows } = await client.flows.list();
    return flows[0] === undefined ? null : client.flows.retry(flows[0].id);
  };
}

function signalFirst(client: Client): () => Promise<unknown> {
  return async () => {
    const { jobs } = await client.list({ tag: "durable" });
    return jobs[0] === undefined ? null : client.signal(jobs[0].id, SIGNAL, { by: "script" }, { id: "script" });
  };
}

function cancelFirst(client: Client, status: "pending" | "running"): () => Promise<unknown> {
  return async () => {
    const { jobs } = await client.list({ status });
    return jobs[0] === undefined ? null : client.cancel(jobs[0].id);
  };
}

function removeFirst(client: Client): () => Promise<unknown> {
  return async () => {
    const { jobs } = await client.dead.list();
    return jobs[0] === undefined ? client.dead.purge() : client.remove(jobs[0].id);
  };
}

// ── The fault ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What is no call: what a store knows by itself, and its feed. */
const NO_CALLS: ReadonlySet<string> = new Set(["inFlight", "shareable", "watch", "listen", "newsWanted", "within", "close"]);

/** A store one of whose calls fails. */
class FailingStore {
  readonly store: Store;
  calls = 0;
  failed: string | null = null;

  constructor(inner: Store, fault: NthFault | null) {
    this.store = new Proxy(inner, {
      get: (target, name) => {
        const verb = Reflect.get(target, name, target) as unknown;
        if (typeof verb !== "function") return verb;
        const call = verb.bind(target) as (...args: unknown[]) => Promise<unknown>;
        if (NO_CALLS.has(name as string)) return name === "close" ? async () => {} : call;
        return async (...args: unknown[]) => {
          if (++this.calls !== fault?.call) return call(...args);
          this.failed = name as string;
          if (fault.when === "after") await call(...args);
          throw new MillraceError("store_unavailable", `call ${this.calls} failed`);
        };
      },
    });
  }
}
