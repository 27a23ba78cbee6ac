import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Engine } from "../harness.ts";
import { World } from "../world.ts";
import { commands } from "./commands.ts";
import { compareEnd } from "./compare.ts";
import { Reference } from "./reference.ts";
import { effects, type Model, type Real } from "./state.ts";

/** How many runs show everything that must happen. */
const MANY_RUNS = 200;
/** For engines with a server, where a run takes ten times as long. */
export const SERVER_RUNS = 100;
const SEED = process.env["MILLRACE_TEST_SEED"];

/** Runs have between 1 and this many commands, about half of it on average. */
const MAX_COMMANDS = 180;

/** What must have happened somewhere in a suite of the usual size; a suite in which it did not proves less than it says. */
const MUST_HAPPEN = `
  insert created, insert known, insert conflict, insert pruned, insert full, insert again created,
  claim some, claim none, repeat ok, repeat stale, extend ok, extend stale, extend cancelled, note ok, note stale,
  settle completed ok, settle failed ok, settle discard ok, settle snooze ok, settle release ok, settle lost ok, settle hold ok,
  settle completed stale, settle failed stale, settle discard stale, settle snooze stale, settle release stale, settle lost stale,
  settle completed cancelled, cancel ok, cancel refused, retry ok, retry refused, run now ok, run now refused,
  replace ok, replace refused, replace missing, replace pending, replace scheduled, replace blocked,
  replace pending of a limit key, replace scheduled of a limit key, replace blocked of a limit key,
  remove ok, remove refused, remove missing, promote some, reclaim some, prune some, list some, list internal,
  claim waits for time, set limits, set limits of a key, list limits, insert full key,
  keep steps ok, keep steps stale, keep steps cancelled, read steps some, read steps none, read steps null, read steps overdue,
  settle suspend ok, settle suspend stale, settle suspend cancelled, suspend calls, suspend calls an ended job,
  suspended job is blocked, suspended job is scheduled, suspended job is pending, promote a suspended job, restart ok,
  end step ok, end step woke, end step late, end step late of another life, end step late of another kind, end step refused, end step missing, deliver end, deliver cancel, deliver insert,
  put schedule, put schedule refused, tick ticked, tick stale`
  .split(",")
  .map((effect) => effect.trim());

/** Any sequence of calls has the same answers and the same state as the reference model. */
export function modelSuite(engine: Engine, usualRuns: number = MANY_RUNS): void {
  const runs = Number(process.env["MILLRACE_TEST_RUNS"] ?? usualRuns);
  describe(`the reference model and ${engine.name}`, () => {
    test(`agree after every command of ${runs} random runs`, { timeout: 600_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.commands(commands, { maxCommands: MAX_COMMANDS, size: "max" }), async (list) => runOnce(engine, list)),
        { numRuns: runs, ...(SEED === undefined ? {} : { seed: Number(SEED) }) },
      );
      const missing = runs >= MANY_RUNS ? MUST_HAPPEN.filter((effect) => !effects.has(effect)) : [];
      expect(missing).toEqual([]);
    });
  });
}

async function runOnce(engine: Engine, list: Iterable<fc.AsyncCommand<Model, Real>>): Promise<void> {
  const world = await World.open(engine);
  try {
    const reference = new Reference(world.clock.now(), engine.placesReturnLate !== undefined);
    const model: Model = { reference, leases: [], inserted: [], sent: [], versions: new Map(), steps: 0 };
    const real: Real = { connections: [world, await world.elsewhere()] };
    await fc.asyncModelRun(() => ({ model, real }), list);
    await compareEnd(model, world);
  } finally {
    await world.destroy();
  }
}
