import { EngineClock } from "./engine-clock.ts";
import { type Answered, type AnswerLine, CRASH, type InvokeLine, type Line, type SeenLine, type SentJob, type Verb } from "./line.ts";
import { Shelf } from "./shelf.ts";
import type { JobStory, Moment, Op, Sighting } from "./story.ts";

/** A worker from its first word to its last. */
export interface WorkerLife {
  readonly worker: string;
  readonly up: Sighting<"up">;
  stopping: Sighting<"stopping"> | null;
  stopped: Sighting<"stopped"> | null;
  /** When its process was killed. */
  killed: Moment | null;
}

/**
 * A HISTORY, READ. Calls have met their answers; what is about one job stands together on the shelf, and what is about all of them is here.
 * Nothing here grows with the number of lines but for claims that gave something, ticks, pulses and probes.
 */
export class History {
  readonly #shelf: Shelf;
  /** When claims that were not answered were begun, by worker and turn. */
  readonly #unanswered = new Map<string, Moment>();
  readonly #open = new Map<string, { readonly line: InvokeLine; readonly number: number }>();
  readonly clock = new EngineClock();
  /** Those that gave something or may have. */
  readonly claims: Op<"claim">[] = [];
  readonly configures: Op<"configure">[] = [];
  readonly keyLimits: Op<"limit-key">[] = [];
  readonly prunes: Op<"prune">[] = [];
  readonly puts: Op<"put-schedule">[] = [];
  readonly unputs: Op<"remove-schedule">[] = [];
  readonly ticks: Op<"tick">[] = [];
  readonly workers = new Map<string, WorkerLife>();
  readonly faults: Sighting<"fault">[] = [];
  /** When the loop of each process was seen to turn. */
  readonly pulses = new Map<string, number[]>();
  /** When writes of another program were taken. */
  readonly probes: number[] = [];
  readonly totals: Sighting<"totals">[] = [];
  readonly storedQueues: Sighting<"stored-queue">[] = [];
  readonly storedSchedules: Sighting<"stored-schedule">[] = [];
  readonly storedFlows = new Map<string, Sighting<"stored-flow">>();
  /** The last line at which a process was in doubt about a call; Infinity when it never learned. */
  readonly lastUnknown = new Map<string, number>();
  calm: Sighting<"calm"> | null = null;
  dumped: Sighting<"dumped"> | null = null;
  lines = 0;

  constructor(mostInMemory?: number) {
    this.#shelf = new Shelf(mostInMemory);
  }

  static of(lines: Iterable<Line>, mostInMemory?: number): History {
    const history = new History(mostInMemory);
    for (const line of lines) history.#add(line);
    history.#end();
    return history;
  }

  stories(): Generator<JobStory> {
    return this.#shelf.stories();
  }

  dispose(): void {
    this.#shelf.dispose();
  }

  #add(line: Line): void {
    const number = ++this.lines;
    if ("is" in line) return this.#see(line, number);
    const name = `${line.by} ${line.op}`;
    if (line.phase === "invoke") {
      this.#open.set(name, { line, number });
      return;
    }
    const begun = this.#open.get(name);
    if (begun === undefined) throw new Error(`line ${number} ends call ${line.op} of ${line.by}, which never began`);
    this.#open.delete(name);
    this.#tell(begun, { at: line.at, line: number }, line);
  }

  /** Calls that were never answered may have done anything. */
  #end(): void {
    for (const begun of this.#open.values()) this.#tell(begun, null, null);
    this.#open.clear();
  }

  #tell({ line, number }: { readonly line: InvokeLine; readonly number: number }, answered: Moment | null, end: AnswerLine | null): void {
    const op = {
      do: line.do,
      by: line.by,
      ask: line.ask,
      phase: end?.phase ?? "unknown",
      answer: end?.answer ?? {},
      invoked: { at: line.at, line: number },
      answered,
    } as AnyOp;
    if (op.phase === "unknown") this.lastUnknown.set(op.by, Math.max(this.lastUnknown.get(op.by) ?? 0, answered?.line ?? Infinity));
    this.#file(op);
  }

  #file(op: AnyOp): void {
    const shelf = this.#shelf;
    switch (op.do) {
      case "enqueue":
        if (op.answer.job !== undefined) shelf.put(op.answer.job, "enqueues", op);
        return;
      case "insert":
        return shelf.put(op.ask.job, "sendings", { ...op, sent: op.ask, schedule: null, tick: null });
      case "tick":
        return this.#fileTick(op);
      case "claim":
        return this.#fileClaim(op);
      case "settle":
        for (const made of [op.ask.made ?? [], op.ask.calls ?? []].flat()) this.#fileMade(op, made);
        return shelf.put(op.ask.job, "settles", op);
      case "extend":
        return shelf.put(op.ask.job, "extends", op);
      case "note":
        return shelf.put(op.ask.job, "notes", op);
      case "keep-steps":
        return shelf.put(op.ask.job, "keeps", op);
      case "read-steps":
        return shelf.put(op.ask.job, "stepReads", op);
      case "end-step":
        return shelf.put(op.ask.job, "stepEnds", op);
      case "cancel":
        return shelf.put(op.ask.job, "cancels", op);
      case "retry":
        return shelf.put(op.ask.job, "retries", op);
      case "run-now":
        return shelf.put(op.ask.job, "runNows", op);
      case "open":
        return shelf.put(op.ask.job, "opens", op);
      case "set-flow":
        return shelf.put(op.ask.job, "flowMoves", op);
      case "add-members":
        return shelf.put(op.ask.job, "additions", op);
      case "remove":
        return shelf.put(op.ask.job, "removes", op);
      case "prune":
        return void this.prunes.push(op);
      case "configure":
        return void this.configures.push(op);
      case "limit-key":
        return void this.keyLimits.push(op);
      case "put-schedule":
        return void this.puts.push(op);
      case "remove-schedule":
        return void this.unputs.push(op);
    }
  }

  #fileTick(op: Op<"tick">): void {
    this.ticks.push(op);
    const { made, schedule } = op.ask;
    if (made === null) return;
    const isRefused = op.phase === "ok" && op.answer.answer === "full";
    const answer: Answered["insert"] = isRefused ? { kind: "full" } : {};
    this.#shelf.put(made.job, "sendings", {
      sent: made,
      schedule,
      tick: op.ask.tick,
      phase: isRefused ? "fail" : op.phase,
      answer,
      invoked: op.invoked,
      answered: op.answered,
    });
  }

  /** It comes with the settlement, whose repeat brings no second one. */
  #fileMade({ phase, invoked, answered }: Op<"settle">, made: SentJob): void {
    this.#shelf.put(made.job, "sendings", { sent: made, schedule: null, tick: null, phase, answer: {}, invoked, answered });
  }

  #fileClaim(op: Op<"claim">): void {
    const granted = op.answer.granted ?? [];
    const { worker, turn, again, leaseMs } = op.ask;
    const isStopping = (this.workers.get(worker)?.stopping ?? null) !== null;
    if (granted.length > 0 || op.phase === "unknown" || isStopping) this.claims.push(op);
    const { by, answered } = op;
    // What is given again was granted by the first claim of that turn.
    const name = `${worker} ${turn}`;
    if (op.phase === "unknown" && !this.#unanswered.has(name)) this.#unanswered.set(name, op.invoked);
    const invoked = (again ? this.#unanswered.get(name) : undefined) ?? op.invoked;
    for (const lease of granted) {
      this.#shelf.put(lease.job, "grants", { ...lease, by, worker, turn, again, leaseMs, invoked, answered: answered! });
    }
  }

  #see(line: SeenLine, number: number): void {
    const seen = { ...line, line: number };
    switch (seen.is) {
      case "start":
        return this.#shelf.put(seen.job, "starts", seen);
      case "end":
        return this.#shelf.put(seen.job, "ends", seen);
      case "abort":
        return this.#shelf.put(seen.job, "aborts", seen);
      case "effect":
        return this.#shelf.put(seen.job, "effects", seen);
      case "went-on":
        return this.#shelf.put(seen.job, "wentOn", seen);
      case "stored-job":
        return this.#shelf.put(seen.job, "stored", seen);
      case "up":
        return void this.workers.set(seen.worker, { worker: seen.worker, up: seen, stopping: null, stopped: null, killed: null });
      case "stopping":
        return void this.#lifeOf(seen.worker, (life) => (life.stopping ??= seen));
      case "stopped":
        return void this.#lifeOf(seen.worker, (life) => (life.stopped = seen));
      case "fault":
        this.faults.push(seen);
        if (seen.what === CRASH) for (const life of this.workers.values()) if (life.up.by === seen.who) life.killed ??= seen;
        return;
      case "pulse":
        return this.#pulse(seen);
      case "probe":
        return void this.probes.push(seen.at);
      case "clock":
        return this.clock.read(seen);
      case "calm":
        this.calm = seen;
        return;
      case "totals":
        return void this.totals.push(seen);
      case "stored-queue":
        return void this.storedQueues.push(seen);
      case "stored-flow":
        return void this.storedFlows.set(seen.job, seen);
      case "stored-schedule":
        return void this.storedSchedules.push(seen);
      case "dumped":
        this.dumped = seen;
        return;
    }
  }

  #pulse({ by, at }: Moment & { readonly by: string }): void {
    const known = this.pulses.get(by);
    if (known === undefined) this.pulses.set(by, [at]);
    else known.push(at);
  }

  #lifeOf(worker: string, change: (life: WorkerLife) => void): void {
    const life = this.workers.get(worker);
    if (life !== undefined) change(life);
  }
}

type AnyOp = { [V in Verb]: Op<V> }[Verb];
