import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Guard } from "./guard.ts";
import type { MemberWishes } from "./programs/member.ts";

const fileAt = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const PRELOAD = new URL("./programs/stepped-date.ts", import.meta.url).href;
/** Runs start the same sources again and again: what was compiled once is kept beside the packages. */
const COMPILED = fileAt("../../node_modules/.cache/compiled");
const LOOK_MS = 10;
const TAIL = 2_000;

export interface DeploymentOptions {
  readonly name: string;
  readonly program: "worker" | "producer";
  readonly url: string;
  readonly seed: string;
  readonly slots: number;
  readonly leaseMs: number;
  /** Where histories, logs and clocks are kept. */
  readonly folder: string;
  readonly guard: Guard;
  /** Told what should never happen. */
  readonly onBroken: (complaint: string) => void;
}

/** One incarnation: a real process. */
interface Running {
  readonly by: string;
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  isReady: boolean;
  isFrozen: boolean;
  clockSteps: number;
  /** It was told to end, or killed: whatever it ends with is our doing. */
  isEnding: boolean;
}

/** A PROCESS THAT IS STARTED AGAIN AND AGAIN, each time as another incarnation with a history of its own. */
export class Deployment {
  readonly name: string;
  readonly program: "worker" | "producer";
  readonly #options: DeploymentOptions;
  #incarnation = 0;
  #running: Running | null = null;

  constructor(options: DeploymentOptions) {
    this.name = options.name;
    this.program = options.program;
    this.#options = options;
    this.setClock(0);
  }

  /** The incarnation that is there now. */
  get by(): string | null {
    return this.#running?.by ?? null;
  }

  /** It is up and at work, and nothing is being done to it. */
  get isReady(): boolean {
    const running = this.#running;
    return running !== null && running.isReady && !running.isFrozen && !running.isEnding;
  }

  get clockSteps(): number {
    return this.#running?.clockSteps ?? 0;
  }

  /** Starts it if it is down. */
  start(): void {
    if (this.#running !== null) return;
    const by = `${this.name}.${++this.#incarnation}`;
    const child = this.#spawn(by);
    const ended = once(child, "exit").then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }));
    const running: Running = { by, child, ended, isReady: false, isFrozen: false, clockSteps: 0, isEnding: false };
    this.#running = running;
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes("ready")) running.isReady = true;
      if (text.includes("clock stepped")) running.clockSteps++;
    });
    void ended.then(({ code, signal }) => {
      this.#options.guard.forget("process", child.pid!);
      if (this.#running === running) this.#running = null;
      if (!running.isEnding) this.#complain(by, `ended by itself with ${signal ?? `code ${code}`}`);
    });
  }

  /** As `kill -9` does it. False when there was nobody to kill. */
  async kill(): Promise<boolean> {
    const running = this.#running;
    if (running === null || running.isEnding) return false;
    running.isEnding = true;
    running.child.kill("SIGKILL");
    return (await running.ended).signal === "SIGKILL";
  }

  /** Stops it for a while in the middle of whatever it does. False when it did not stand still. */
  async freeze(ms: number): Promise<boolean> {
    const running = this.#running;
    if (running === null || !this.isReady) return false;
    running.isFrozen = true;
    running.child.kill("SIGSTOP");
    const stood = await isStopped(running.child.pid!);
    await sleep(ms);
    running.child.kill("SIGCONT");
    running.isFrozen = false;
    return stood && !running.isEnding;
  }

  /** Stops it for good, as a machine that lost its power: it says nothing more, and after so long it is gone. False when it did not stand still. */
  async vanish(ms: number): Promise<boolean> {
    const running = this.#running;
    if (running === null || !this.isReady) return false;
    running.isFrozen = true;
    running.child.kill("SIGSTOP");
    const stood = await isStopped(running.child.pid!);
    await sleep(ms);
    return (await this.kill()) && stood;
  }

  /** As a deploy does it. False when there was nobody to stop. A process that does not end in time, or not well, is broken. */
  async stop(withinMs: number): Promise<boolean> {
    const running = this.#running;
    if (running === null || running.isEnding || !(await this.ready(withinMs))) return this.kill();
    running.isEnding = true;
    running.child.kill("SIGTERM");
    const over = new AbortController();
    const end = await Promise.race([running.ended, sleep(withinMs, null, { signal: over.signal }).catch(() => null)]);
    over.abort();
    if (end === null) {
      this.#complain(running.by, `did not end within ${withinMs} ms of SIGTERM`);
      running.child.kill("SIGKILL");
      await running.ended;
      return false;
    }
    // SIGKILL: another deed met it meanwhile.
    if (end.code !== 0 && end.signal !== "SIGKILL")
      this.#complain(running.by, `ended with ${end.signal ?? `code ${end.code}`} after SIGTERM`);
    return true;
  }

  /** From now on its Date is off by so much, and that of its later incarnations too. */
  setClock(shiftMs: number): void {
    writeFileSync(this.#clockFile, String(shiftMs));
  }

  #spawn(by: string): ChildProcess {
    const { folder, url, seed, slots, leaseMs, program, guard } = this.#options;
    const history = join(folder, `${by}.jsonl`);
    const wishes: MemberWishes = { url, history, by, seed: `${seed}/${by}`, slots, leaseMs };
    const log = openSync(this.#logOf(by), "a");
    const node = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning", "--import", PRELOAD];
    const child = spawn(process.execPath, [...node, fileAt(`./programs/${program}.ts`), JSON.stringify(wishes)], {
      stdio: ["ignore", "pipe", log],
      env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, MILLRACE_TORTURE_CLOCK: this.#clockFile },
    });
    closeSync(log);
    guard.add("process", child.pid!);
    return child;
  }

  get #clockFile(): string {
    return join(this.#options.folder, `${this.name}.clock`);
  }

  #logOf(by: string): string {
    return join(this.#options.folder, `${by}.log`);
  }

  /** Resolves when it is at work. False when it is not within that time. */
  async ready(withinMs: number): Promise<boolean> {
    for (let left = withinMs; left > 0 && this.#running !== null && !this.#running.isReady; left -= LOOK_MS) await sleep(LOOK_MS);
    return this.#running?.isReady ?? false;
  }

  #complain(by: string, says: string): void {
    this.#options.onBroken(`${by} ${says}\n${readFileSync(this.#logOf(by), "utf8").slice(-TAIL)}`);
  }
}

/** Whether the process stands still: seen from outside, as it can say nothing. */
async function isStopped(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 100; tries++) {
    const state = /^State:\s+(\S)/m.exec(statusOf(pid))?.[1];
    if (state === "T") return true;
    if (state === undefined || state === "Z") return false;
    await sleep(LOOK_MS);
  }
  return false;
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}
