import { formatDuration } from "../../core/duration.ts";
import { MillraceError } from "../../core/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { systemClock } from "../../lib/clock.ts";
import { isRefusal } from "../../lib/refused.ts";
import { MOST_WAITING } from "../calls-under-way.ts";
import { cannotReach } from "../cannot-reach.ts";
import type { Reply } from "./codec.ts";
import { type Driver, failureOf } from "./driver.ts";
import type { Script } from "./statements/script.ts";

export interface SessionOptions {
  readonly clock: Clock;
  /** How long a call may wait for the server. */
  readonly deadlineMs: number;
  /** Where it is, for messages. */
  readonly place: string;
  /** How long a server that has never answered may refuse connections. */
  readonly refusedMs: number;
}

/** A script and its arguments. */
export interface ScriptCall {
  readonly script: Script;
  readonly args: readonly string[];
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/**
 * Repeats calls while the server is away. A call that failed for a passing reason is made again, with growing pauses, until its deadline.
 * That is safe even if the first try may have been carried out, because every verb may be repeated; `again` changes the arguments where the
 * server must recognise the repeat.
 */
export class Session {
  readonly driver: Driver;
  readonly #options: SessionOptions;
  readonly #isTest: boolean;
  readonly #wake = new Set<() => void>();
  /** How many calls had to be made again so far. While it does not rise, the server gets calls in the order in which they were made. */
  repeats = 0;
  #hasAnswered = false;
  #isGivenUp = false;

  constructor(driver: Driver, options: SessionOptions) {
    this.driver = driver;
    this.#options = options;
    this.#isTest = options.clock !== systemClock;
    driver.onReady(() => {
      this.#hasAnswered = true;
      this.#wakeAll();
    });
  }

  /** The time for scripts: empty, because they use the server's, except in tests with their own clock. */
  time(): string {
    return this.#isTest ? String(Math.floor(this.#options.clock.now())) : "";
  }

  /** `again` is called before each try after a lost answer, and may return what to call instead. */
  run(script: Script, key: string, args: readonly string[], again?: () => ScriptCall | void): Promise<Reply> {
    const now = this.time();
    const first = { script, args };
    return this.withRetries((isRepeat) => {
      const call = (isRepeat ? again?.() : undefined) ?? first;
      const keys = call.script.keys === "one" ? ["1", key] : ["2", `${key}:v`, `${key}:none`];
      return this.#evaluate(call.script, [call.script.sha, ...keys, now, ...call.args]);
    }, script.name);
  }

  command(name: string, ...args: readonly string[]): Promise<Reply> {
    return this.withRetries(() => this.driver.command(name, args), name.toLowerCase());
  }

  /** The server's time. */
  async now(): Promise<number> {
    if (this.#isTest) return Number(this.time());
    const [seconds, micros] = (await this.command("TIME")) as [Buffer, Buffer];
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** Fails the calls that wait to be made again. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#wakeAll();
  }

  /** Runs a script by its digest, the first argument; a restarted server does not know it and gets the text. */
  async #evaluate(script: Script, args: readonly string[]): Promise<Reply> {
    try {
      return await this.driver.command("evalsha", args);
    } catch (error) {
      if (failureOf(error) !== "noscript") throw error;
      this.repeats++;
      return this.driver.command("eval", [script.text, ...args.slice(1)]);
    }
  }

  /** Makes a call, and makes it again after a passing failure. */
  async withRetries<Answer>(call: (isRepeat: boolean) => Promise<Answer>, name: string): Promise<Answer> {
    const since = performance.now();
    let isRepeat = false;
    let left: number | null = null;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 2)) {
      try {
        return await (left === null ? call(isRepeat) : within(left, call(isRepeat)));
      } catch (error) {
        const failure = failureOf(error);
        forgetArguments(error);
        this.repeats++;
        if (failure === "unknown") isRepeat = true;
        left = this.patienceMs() - (performance.now() - since);
        const isPassing = (failure === "unknown" || failure === "unsent") && failureOf(this.driver.lastError) !== "denied";
        if (!isPassing || left <= 0 || this.#isGivenUp || this.#wake.size >= MOST_WAITING) throw this.#finalError(error, name);
        await this.#rest(Math.min(left, pause * (0.5 + Math.random())));
        if (this.#isGivenUp) throw this.#finalError(error, name);
      }
    }
  }

  /** Opening a store at an address where nothing listens should not take the whole deadline. */
  patienceMs(): number {
    const { deadlineMs, refusedMs } = this.#options;
    return !this.#hasAnswered && isRefusal(this.driver.lastError) ? Math.min(deadlineMs, refusedMs) : deadlineMs;
  }

  /** Waits, or returns early when the server is back. */
  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        this.#wake.delete(wake);
        resolve();
      };
      const timer = systemClock.setTimer(wake, ms);
      this.#wake.add(wake);
    });
  }

  #wakeAll(): void {
    for (const wake of this.#wake) wake();
  }

  #finalError(error: unknown, name: string): unknown {
    const cause = this.driver.lastError ?? error;
    const failure = failureOf(cause) === "denied" ? "denied" : failureOf(error);
    switch (failure) {
      case "full":
        return new MillraceError("store_full", "the memory of the Redis server is full. Raise maxmemory or remove jobs", { cause: error });
      case "denied":
        return new MillraceError("store_unavailable", `Redis at ${this.#options.place} refuses this connection: ${messageOf(cause)}`, {
          cause,
        });
      case "unsent":
      case "unknown": {
        const server = `Redis at ${this.#options.place}`;
        const ms = this.patienceMs();
        if (isRefusal(cause)) return cannotReach(server, cause, this.#isGivenUp ? null : { ms });
        const time = this.#isGivenUp ? "before the client was closed" : `within ${formatDuration(ms)}`;
        return new MillraceError("store_unavailable", `${server} did not answer ${name} ${time}: ${messageOf(cause)}`, { cause });
      }
      case "noscript":
      case "fault":
        return error;
    }
  }
}

/** A repeated call ends at the deadline, even if its connection has not failed. */
function within<Answer>(ms: number, call: Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = systemClock.setTimer(() => reject(new Error("no answer came in time")), ms);
    call.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** An error of ioredis has the command's arguments, payloads included, which must not reach a log. */
function forgetArguments(error: unknown): void {
  if (error instanceof Error && "command" in error) delete error.command;
}

function messageOf(error: unknown): string {
  // A host with several addresses fails with one error for each.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
