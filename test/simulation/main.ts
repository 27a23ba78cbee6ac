/**
 * Runs as many worlds as one likes:
 *
 *   npm run simulate -- --seeds 100000            from seed 1 on
 *   npm run simulate -- --from 4711               one world, and what is wrong with it
 *   npm run simulate -- --from 4711 --verbose     with its whole history
 *
 * The first seed whose world breaks a promise ends the run, unless `--all` is given.
 */
import { parseArgs } from "node:util";
import { complaintsOf, hashOf, runWorld, type WorldEnd } from "./world.ts";

const PROGRESS_EVERY_MS = 1_000;

interface Wishes {
  readonly from: number;
  readonly seeds: number;
  readonly verbose: boolean;
  readonly all: boolean;
}

/** What was seen so far. */
interface Tally {
  worlds: number;
  simulatedMs: number;
  lines: number;
  jobs: number;
  failed: number;
  readonly faults: Map<string, number>;
}

const wishes = readWishes();
process.exitCode = (await runAll(wishes)).failed === 0 ? 0 : 1;

function readWishes(): Wishes {
  const { values } = parseArgs({
    options: {
      from: { type: "string", default: "1" },
      seeds: { type: "string", default: "1" },
      verbose: { type: "boolean", default: false },
      all: { type: "boolean", default: false },
    },
  });
  return { from: wholeNumber("from", values.from), seeds: wholeNumber("seeds", values.seeds), verbose: values.verbose, all: values.all };
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`--${name} must be a whole number; got ${text}`);
  process.exit(2);
}

async function runAll({ from, seeds, verbose, all }: Wishes): Promise<Tally> {
  const tally: Tally = { worlds: 0, simulatedMs: 0, lines: 0, jobs: 0, failed: 0, faults: new Map() };
  const startedAt = performance.now();
  let toldAt = startedAt;
  for (let seed = from; seed < from + seeds; seed++) {
    const end = await runWorld(seed);
    count(tally, end);
    if (verbose) for (const [index, line] of end.lines.entries()) console.log(`${index + 1}: ${JSON.stringify(line)}`);
    if (!isSound(end)) {
      tally.failed++;
      if (!all) break;
    }
    if (performance.now() - toldAt > PROGRESS_EVERY_MS) {
      toldAt = performance.now();
      process.stderr.write(`\r${summary(tally, startedAt)} `);
    }
  }
  process.stderr.write("\r");
  console.log(summary(tally, startedAt));
  console.log(
    [...tally.faults]
      .sort(([, a], [, b]) => b - a)
      .map(([what, times]) => `${times} ${what}`)
      .join(", "),
  );
  return tally;
}

function count(tally: Tally, { lines, simulatedMs }: WorldEnd): void {
  tally.worlds++;
  tally.simulatedMs += simulatedMs;
  tally.lines += lines.length;
  for (const line of lines) {
    if (!("is" in line)) continue;
    if (line.is === "fault") tally.faults.set(line.what, (tally.faults.get(line.what) ?? 0) + 1);
    if (line.is === "stored-job") tally.jobs++;
  }
}

function isSound(end: WorldEnd): boolean {
  const complaints = complaintsOf(end);
  if (complaints.length === 0) return true;
  console.log(`\nseed ${end.seed} is broken (history ${hashOf(end.lines).slice(0, 12)}):\n${complaints.join("\n")}`);
  console.log(`replay it:  npm run simulate -- --from ${end.seed}    (--verbose shows its whole history)\n`);
  return false;
}

function summary({ worlds, simulatedMs, lines, jobs, failed }: Tally, startedAt: number): string {
  const seconds = (performance.now() - startedAt) / 1_000;
  const hours = (simulatedMs / 3_600_000).toFixed(1);
  return `${worlds} worlds, ${failed} broken; ${jobs} jobs at their ends, ${lines} lines, ${hours} simulated hours in ${seconds.toFixed(0)} s`;
}
