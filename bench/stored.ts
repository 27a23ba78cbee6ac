/** WHAT A RUN LEAVES: a file for each engine. Those in `bench/measured` are what docs/engines.md shows. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ENGINES } from "./engines/all.ts";
import type { Figure } from "./figure.ts";
import type { Extent } from "./session.ts";

export const MEASURED: string = fileURLToPath(new URL("./measured", import.meta.url));

/** Where a run took place. */
export interface Machine {
  readonly node: string;
  readonly cpus: number;
  readonly cpu: string;
  /** How many programs ran before we began, on average over a minute: figures of a busy machine are lower. */
  readonly load: number;
}

/** One engine, measured in one run. */
export interface Stored {
  readonly engine: string;
  readonly about: string;
  readonly machine: Machine;
  readonly extent: Extent;
  /** Package and version of other queues. */
  readonly peers: readonly string[];
  readonly figures: readonly Figure[];
}

export function thisMachine(): Machine {
  const all = cpus();
  return { node: process.versions.node, cpus: all.length, cpu: all[0]?.model ?? "unknown", load: Number(loadavg()[0]!.toFixed(1)) };
}

export function machineText({ node, cpus, cpu, load }: Machine): string {
  return `${cpus} CPU${cpus === 1 ? "" : "s"} (${cpu}), Node ${node}, load ${load} before the run`;
}

export function store(folder: string, stored: Stored): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${stored.engine}.json`), `${JSON.stringify(stored, shortNumber, 2)}\n`);
}

/** The engines that the folder has, in our order. */
export function readStored(folder: string): Stored[] {
  return ENGINES.map(({ name }) => join(folder, `${name}.json`))
    .filter((file) => existsSync(file))
    .map((file) => JSON.parse(readFileSync(file, "utf8")) as Stored);
}

/** Nobody measures more than four digits. */
function shortNumber(_: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
}
