import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** What a process says of itself. Bytes, and how many. */
export interface Holding {
  readonly heap: number;
  readonly rss: number;
  readonly handles: number;
}

const GAUGE = new URL("./gauge.ts", import.meta.url).href;
const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const STOP_WITHIN_MS = 15_000;
const TAIL = 2_000;

/** A command of ours as a process of its own, which can be asked what it holds. */
export class SoakedProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown>;
  #said = "";
  #listeners = new Set<() => void>();

  constructor(name: string, args: readonly string[], cwd: string) {
    this.#name = name;
    const node = ["--expose-gc", "--conditions=millrace-source", "--disable-warning=ExperimentalWarning", "--import", GAUGE];
    this.#child = spawn(process.execPath, [...node, CLI, ...args], {
      cwd,
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"], LOG_LEVEL: "warn" },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#gone = once(this.#child, "exit").then(() => this.#tell());
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#said = (this.#said + text).slice(-TAIL);
        this.#tell();
      });
    }
  }

  /** The first group of what it says as soon as it says so. Throws when it ends before. */
  async said(text: RegExp): Promise<string> {
    for (;;) {
      const found = text.exec(this.#said);
      if (found !== null) return found[1] ?? found[0];
      this.#refuseEnded();
      await new Promise<void>((resolve) => this.#listeners.add(resolve));
    }
  }

  /** What it holds now, after a forced collection. */
  async holding(): Promise<Holding> {
    this.#refuseEnded();
    const answer = once(this.#child, "message") as Promise<[Holding]>;
    this.#child.send("what do you hold?");
    const [holding] = await Promise.race([answer, this.#gone.then(() => Promise.reject(this.#ended()))]);
    return holding;
  }

  /** How many descriptors it has open; null where the system does not tell. */
  descriptors(): number | null {
    return process.platform === "linux" ? readdirSync(`/proc/${this.#child.pid}/fd`).length : null;
  }

  /** As an operator ends it. Throws when it does not end well. */
  async stop(): Promise<void> {
    this.#refuseEnded();
    this.#child.kill("SIGTERM");
    const over = new AbortController();
    await Promise.race([this.#gone, sleep(STOP_WITHIN_MS, null, { signal: over.signal }).catch(() => {})]);
    over.abort();
    if (this.#child.exitCode !== 0) throw this.#ended();
  }

  /** At once, if it is still there. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
  }

  #refuseEnded(): void {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) throw this.#ended();
  }

  #ended(): Error {
    return new Error(`the ${this.#name} ended with ${this.#child.signalCode ?? this.#child.exitCode ?? "nothing"}:\n${this.#said}`);
  }

  #tell(): void {
    const listeners = this.#listeners;
    this.#listeners = new Set();
    for (const listener of listeners) listener();
  }
}
