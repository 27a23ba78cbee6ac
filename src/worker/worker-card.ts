import { randomFillSync } from "node:crypto";
import { hostname } from "node:os";
import type { WorkerHandle } from "../client/client.ts";
import { MAX_RUNNING_SHOWN } from "../core/work-limits.ts";
import type { WorkerEntry } from "../core/worker-entry.ts";
import type { Clock } from "../lib/clock.ts";
import type { Attempts } from "./attempts.ts";
import type { HandlerTable } from "./handlers.ts";
import { SlotUse } from "./slot-use.ts";

const ID_BYTES = 9;

/** Describes a worker for the list of workers. */
export class WorkerCard {
  /** Random for each start: a restarted worker must not be mistaken for one that still holds leases. */
  readonly id: string;
  readonly #clock: Clock;
  readonly #queues: readonly string[];
  readonly #types: readonly string[] | "*";
  readonly #version: string | undefined;
  /** Part of each entry; empty if it publishes no schemas. */
  readonly #schemas: Pick<WorkerEntry, "schemas">;
  readonly #host = hostname();
  readonly #startedAt: number;
  readonly #rate = new Rate();
  readonly #use: SlotUse;
  #processed = 0;

  constructor(
    clock: Clock,
    { queues, types, version, schemas }: Pick<WorkerEntry, "queues" | "types" | "version"> & Pick<HandlerTable, "schemas">,
    fill: (bytes: Uint8Array) => void = randomFillSync,
  ) {
    const bytes = Buffer.alloc(ID_BYTES);
    fill(bytes);
    this.id = `w-${bytes.toString("base64url")}`;
    this.#clock = clock;
    this.#queues = queues;
    this.#types = types;
    this.#version = version;
    const digests = Array.from(schemas, ([type, { digest }]) => [type, digest] as const);
    this.#schemas = digests.length === 0 ? {} : { schemas: Object.fromEntries(digests) };
    this.#startedAt = clock.now();
    this.#use = new SlotUse(clock.monotonic());
  }

  ended(count: number): void {
    if (count === 0) return;
    this.#processed += count;
    this.#rate.add(count, this.#clock.monotonic());
  }

  /** The number of running attempts has changed. */
  runs(running: number, slots: number, now: number): void {
    this.#use.change(running, slots, now);
  }

  entry(state: WorkerHandle["state"], slots: number, { running, abandoned }: Attempts): WorkerEntry {
    // An idle worker has slots too, and their number may have changed.
    this.runs(running.size, slots, this.#clock.monotonic());
    return {
      id: this.id,
      host: this.#host,
      pid: process.pid,
      state: state === "stopped" ? "stopping" : state,
      slots,
      queues: this.#queues,
      types: this.#types,
      startedAt: this.#startedAt,
      running: Array.from(running.values().take(MAX_RUNNING_SHOWN), (attempt) => attempt.lease.job.id),
      runningCount: running.size,
      processed: this.#processed,
      perMinute: this.#rate.perMinute(this.#clock.monotonic()),
      abandoned,
      use: this.#use.read(this.#clock.monotonic()),
      version: this.#version,
      ...this.#schemas,
    };
  }
}

/** Counts events of the last minute, by second. */
class Rate {
  readonly #counts: number[] = Array.from({ length: 60 }, () => 0);
  #second = 0;

  add(count: number, nowMs: number): void {
    const second = this.#forgetUntil(nowMs);
    this.#counts[second % 60]! += count;
  }

  perMinute(nowMs: number): number {
    this.#forgetUntil(nowMs);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #forgetUntil(nowMs: number): number {
    const second = Math.floor(nowMs / 1000);
    const passed = Math.min(60, Math.max(0, second - this.#second));
    for (let back = 0; back < passed; back++) this.#counts[(second - back) % 60] = 0;
    this.#second = Math.max(this.#second, second);
    return this.#second;
  }
}
