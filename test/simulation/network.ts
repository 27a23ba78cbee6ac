import { MillraceError } from "../../src/core/errors.ts";
import type { ChangeAnswer, Hint, Store } from "../../src/store/store.ts";
import type { SimProcess } from "./process.ts";
import type { Random } from "./random.ts";
import type { Happening, Timeline } from "./timeline.ts";

/** What becomes of a call. */
const FATES = ["pass", "fail", "lose-answer", "resend", "late"] as const;
export type Fate = (typeof FATES)[number];

/** How likely each trouble is, for one call or one hint. */
export interface Weather {
  /** The call fails before it reaches the store. */
  readonly fail: number;
  /** It takes effect, and its answer is lost. */
  readonly loseAnswer: number;
  /** A driver sends it twice: both take effect, the second is answered. */
  readonly resend: number;
  /** Its caller has long given up when it takes effect. */
  readonly late: number;
  readonly loseHint: number;
  readonly doubleHint: number;
  /** The longest way, in milliseconds, and how likely a way is that long. */
  readonly slowMs: number;
  readonly slow: number;
}

export const FAIR: Weather = { fail: 0, loseAnswer: 0, resend: 0, late: 0, loseHint: 0, doubleHint: 0, slowMs: 0, slow: 0 };

const SHORTEST_WAY_MS = 0.2;
const USUAL_WAY_MS = 3;

export interface NetworkOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  /** How long a call may take before its caller is told that nobody knows. */
  readonly deadlineMs: number;
  readonly inFlight: number;
  /** Told of every trouble that took effect. */
  readonly onFault: (what: string, who: string, forMs?: number) => void;
}

/** What a store knows by itself, and its feed. All else is a call. */
const NO_CALLS: ReadonlySet<string> = new Set([
  "inFlight",
  "shareable",
  "watch",
  "listen",
  "newsWanted",
  "within",
  "close",
] satisfies (keyof Store)[]);

/** A call, and the same call sent a second time by an engine that lost the answer to the first. */
interface Call {
  readonly first: () => Promise<unknown>;
  readonly repeat: () => Promise<unknown>;
}

/** A claim that is asked for again says so. */
function repeated(verb: keyof Store, args: readonly unknown[]): readonly unknown[] {
  if (verb !== "exchange") return args;
  const [settlements, claims] = args as Parameters<Store["exchange"]>;
  return [settlements, claims.map((claim) => ({ ...claim, again: true }))];
}

/** What a repeat found changed it may have changed itself: as engines do, it then says that it does not know. */
function checked(verb: keyof Store, answer: unknown): unknown {
  const isInDoubt = (verb === "change" || verb === "remove") && (answer as ChangeAnswer[]).some(({ kind }) => kind !== "ok");
  if (isInDoubt || (verb === "removeSchedule" && answer === false))
    throw new MillraceError("store_unavailable", "the store lost an answer");
  return answer;
}

/** BETWEEN PROCESSES AND THEIR STORE: ways take time, calls and answers get lost, hints too, and the store may be away. */
export class Network {
  readonly #options: NetworkOptions;
  weather: Weather = FAIR;
  /** Nobody reaches the store. */
  #isDown = false;
  readonly #cutOff = new Set<string>();
  /** Answers under way, to be lost when the store goes down. */
  readonly #underWay = new Set<() => void>();

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** The store as this process sees it. */
  reach(inner: Store, process: SimProcess): Store {
    const unwatch = new Set<() => void>();
    let isClosed = false;
    process.onDeath(() => unwatch.forEach((stop) => stop()));
    const own: Partial<Store> = {
      watch: (listener) => {
        const stop = inner.watch((hint) => this.#hint(process, hint, listener));
        unwatch.add(stop);
        return stop;
      },
      close: async () => {
        isClosed = true;
        unwatch.forEach((stop) => stop());
      },
    };
    return new Proxy(inner, {
      get: (target, name) => {
        if (name === "inFlight") return this.#options.inFlight;
        const mine = own[name as keyof Store];
        if (mine !== undefined) return mine;
        const verb = Reflect.get(target, name, target) as unknown;
        if (typeof verb !== "function") return verb;
        if (NO_CALLS.has(name as string)) return verb.bind(target) as unknown;
        return async (...args: unknown[]) => {
          if (isClosed) throw new MillraceError("closed", "the client is closed");
          const call = (repeat: boolean): Promise<unknown> =>
            verb.apply(target, repeat ? repeated(name as keyof Store, args) : args) as Promise<unknown>;
          return this.#call(process, { first: () => call(false), repeat: async () => checked(name as keyof Store, await call(true)) });
        };
      },
    });
  }

  goDown(): void {
    this.#isDown = true;
    for (const lose of this.#underWay) lose();
  }

  comeUp(): void {
    this.#isDown = false;
  }

  cutOff(process: string): void {
    this.#cutOff.add(process);
  }

  join(process: string): void {
    this.#cutOff.delete(process);
  }

  /** All trouble is over. */
  heal(): void {
    this.comeUp();
    this.#cutOff.clear();
    this.weather = FAIR;
  }

  // ── Calls ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #call(process: SimProcess, call: Call): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const caller = new Caller(process, this.#options, resolve, reject);
    const fate = this.#fate();
    // Until its deadline, at the longest, the caller waits for an answer.
    if (fate !== "pass") this.#options.onFault(fate, process.name, this.#options.deadlineMs);
    this.#send(process, call, fate, caller);
    return promise;
  }

  #send(process: SimProcess, call: Call, fate: Fate, caller: Caller): void {
    const { timeline, random, deadlineMs } = this.#options;
    switch (fate) {
      case "fail":
        return caller.loseLater(this.#wayMs(process));
      case "late":
        caller.loseLater(deadlineMs);
        timeline.after(deadlineMs * (0.5 + random.next()), () => void call.first().catch(() => {}));
        return;
      case "pass":
      case "lose-answer":
      case "resend":
        timeline.after(this.#wayMs(process), () => this.#arrive(process, call, fate, caller));
    }
  }

  /** The call is at the store's door. */
  #arrive(process: SimProcess, call: Call, fate: "pass" | "lose-answer" | "resend", caller: Caller): void {
    const { random, deadlineMs } = this.#options;
    if (this.#isAway(process)) {
      // A closed door is felt at once, a silent one only at the deadline.
      caller.loseLater(random.chance(0.5) ? this.#wayMs(process) : deadlineMs);
      return;
    }
    const answer = fate === "resend" ? call.first().then(call.repeat) : call.first();
    if (fate === "lose-answer") {
      answer.catch(() => {});
      caller.loseLater(random.chance(0.5) ? this.#wayMs(process) : deadlineMs);
      return;
    }
    const lose = (): void => caller.loseLater(this.#wayMs(process));
    this.#underWay.add(lose);
    const arrived = (tell: () => void): void => {
      this.#options.timeline.after(this.#wayMs(process), () => {
        this.#underWay.delete(lose);
        tell();
      });
    };
    answer.then(
      (value) => arrived(() => caller.answer(value)),
      (error: unknown) => arrived(() => caller.refuse(error)),
    );
  }

  #fate(): Fate {
    const { fail, loseAnswer, resend, late } = this.weather;
    let draw = this.#options.random.next();
    for (const [fate, chance] of [
      ["fail", fail],
      ["lose-answer", loseAnswer],
      ["resend", resend],
      ["late", late],
    ] as const) {
      if (draw < chance) return fate;
      draw -= chance;
    }
    return "pass";
  }

  #isAway(process: SimProcess): boolean {
    return this.#isDown || this.#cutOff.has(process.name);
  }

  #wayMs(process: SimProcess): number {
    const { random, onFault } = this.#options;
    const { slow, slowMs } = this.weather;
    if (slow > 0 && random.chance(slow)) {
      const ms = slowMs * random.next();
      onFault("slow", process.name, ms);
      return ms;
    }
    return SHORTEST_WAY_MS + USUAL_WAY_MS * random.next() ** 4;
  }

  // ── Hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #hint(process: SimProcess, hint: Hint, listener: (hint: Hint) => void): void {
    const { timeline, random } = this.#options;
    const { loseHint, doubleHint } = this.weather;
    if (this.#isAway(process) || random.chance(loseHint)) return;
    const times = random.chance(doubleHint) ? 2 : 1;
    for (let time = 0; time < times; time++) timeline.after(this.#wayMs(process), () => process.deliver(() => listener(hint)));
  }
}

/** Who made a call, and is told once. */
class Caller {
  readonly #process: SimProcess;
  readonly #options: NetworkOptions;
  readonly #resolve: (answer: unknown) => void;
  readonly #reject: (error: unknown) => void;
  readonly #timers: Happening[] = [];

  constructor(process: SimProcess, options: NetworkOptions, resolve: (answer: unknown) => void, reject: (error: unknown) => void) {
    this.#process = process;
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.loseLater(options.deadlineMs);
  }

  answer(value: unknown): void {
    this.#forgetTimers();
    this.#process.deliver(() => this.#resolve(value));
  }

  refuse(error: unknown): void {
    this.#forgetTimers();
    this.#process.deliver(() => this.#reject(error));
  }

  /** Tells after so long that nobody knows, unless there was an answer before. */
  loseLater(ms: number): void {
    const { timeline } = this.#options;
    this.#timers.push(timeline.after(ms, () => this.refuse(new MillraceError("store_unavailable", "the store did not answer"))));
  }

  #forgetTimers(): void {
    for (const timer of this.#timers) timer.isCancelled = true;
  }
}
