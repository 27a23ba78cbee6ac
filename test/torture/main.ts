/**
 * Tries to break every engine, with real processes and real servers:
 *
 *   npm run torture                                          every engine, 20 seconds each
 *   npm run torture -- --engine redis --minutes 10           one engine, for longer
 *   npm run torture -- --engine redis --minutes 10 --seed 7  with the faults of a seed
 *   npm run torture -- --only "row held"                     only the faults whose names contain that
 *   npm run torture -- --flows 2000                          with so many flows of eight members
 *   npm run torture -- --short                               without the faults that take long, as in npm test
 *
 * Ends with 1 if a promise was broken. A seed repeats which faults come after which, not at which instruction they meet a process.
 */
import { parseArgs } from "node:util";
import { ENGINES, torture, type TortureEnd, type TortureWishes } from "./run.ts";

const PROGRESS_EVERY_MS = 1_000;

interface Wishes {
  readonly engines: readonly TortureWishes["engine"][];
  readonly chaosMs: number;
  readonly seed: number;
  readonly isShort: boolean;
  readonly only: string;
  readonly flows: number | undefined;
}

const wishes = readWishes();
// Whatever is left then is tidied up by the run's guard, which sees us end.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
let isBroken = false;
for (const engine of wishes.engines) {
  const { chaosMs, seed, isShort, only, flows } = wishes;
  console.log(`${engine}: ${chaosMs / 1_000} s of faults, seed ${seed}`);
  const end = await withProgress(torture({ engine, chaosMs, seed, isShort, only, ...(flows === undefined ? {} : { flows }) }));
  print(end);
  if (end.complaints.length > 0 || end.withoutEffect.length > 0) isBroken = true;
}
process.exitCode = isBroken ? 1 : 0;

function readWishes(): Wishes {
  const { values } = parseArgs({
    options: {
      engine: { type: "string", default: "all" },
      minutes: { type: "string" },
      seconds: { type: "string", default: "20" },
      seed: { type: "string" },
      short: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      flows: { type: "string" },
    },
  });
  const engines = ENGINES.filter((engine) => values.engine === "all" || values.engine === engine);
  if (engines.length === 0) refuse(`--engine must be ${ENGINES.join(", ")} or all; got ${values.engine}`);
  const seconds = values.minutes === undefined ? numberOf("seconds", values.seconds) : numberOf("minutes", values.minutes) * 60;
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : numberOf("seed", values.seed);
  const flows = values.flows === undefined ? undefined : numberOf("flows", values.flows);
  return { engines, chaosMs: seconds * 1_000, seed, isShort: values.short, only: values.only, flows };
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 && text !== "" ? value : refuse(`--${name} must be a number; got ${text}`);
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

async function withProgress<End>(running: Promise<End>): Promise<End> {
  if (!process.stderr.isTTY) return running;
  const startedAt = performance.now();
  const told = setInterval(() => process.stderr.write(`\r${Math.round((performance.now() - startedAt) / 1_000)} s `), PROGRESS_EVERY_MS);
  try {
    return await running;
  } finally {
    clearInterval(told);
    process.stderr.write("\r");
  }
}

function print({ engine, seed, chaosMs, isShort, only = "", figures, complaints, withoutEffect, untried, folder }: TortureEnd): void {
  const { jobs, durable, flows, endedFlows, lines, faults, staleRefused, duplicateStarts, recovery, health } = figures;
  const count = [...faults.values()].reduce((sum, times) => sum + times, 0);
  const lost = complaints.filter((complaint) => complaint.startsWith("I1 ")).length;
  const byTimes = [...faults].sort(([, a], [, b]) => b - a).map(([what, times]) => `${times} ${what}`);
  const rows: readonly (readonly [string, string])[] = [
    ["jobs checked", `${jobs}, ${durable} of them with steps (${lines} lines of history)`],
    ["flows", `${flows}, ${endedFlows} of them ended; the others say whom they wait for`],
    ["faults that took effect", `${count}: ${byTimes.join(", ")}`],
    ["jobs lost", String(lost)],
    ["stale writes refused", String(staleRefused)],
    ["duplicate starts", String(duplicateStarts)],
    ["recovery", recovery === null ? "none" : `p50 ${ms(recovery.p50)}, p99 ${ms(recovery.p99)}, at most ${ms(recovery.most)}`],
    ["healthy workers", `${ms(health.healthyMs)}, at most ${ms(health.longestWithoutMs)} without progress while jobs waited`],
    ["promises broken", String(complaints.length)],
  ];
  for (const [name, value] of rows) console.log(`  ${`${name}:`.padEnd(26)}${value}`);
  for (const reason of untried) console.log(`  not tried:                ${reason}`);
  for (const what of withoutEffect) console.log(`  tried without effect:     ${what}`);
  for (const complaint of complaints) console.log(`\n${complaint}`);
  if (folder === null) return;
  console.log(
    `\nrepeat it:  npm run torture -- --engine ${engine} --seconds ${chaosMs / 1_000} --seed ${seed}${isShort === true ? " --short" : ""}${only === "" ? "" : ` --only "${only}"`}`,
  );
  console.log(`histories:  ${folder}\n`);
}

function ms(value: number): string {
  return value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1_000).toFixed(1)} s`;
}
