import { parseArgs } from "node:util";
import { ENGINES } from "./engines/all.ts";
import type { Engine } from "./engines/engine.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import type { Scenario } from "./scenarios/scenario.ts";
import type { Extent } from "./session.ts";

/** The command line, read. */
export interface Options {
  readonly engines: readonly Engine[];
  readonly scenarios: readonly Scenario[];
  readonly withPeers: boolean;
  readonly against: string | undefined;
  readonly folder: string | undefined;
  readonly isTable: boolean;
  readonly extent: Extent;
}

/** A mistake of the caller, for one line on the terminal. */
export class WrongOption extends Error {}

const MILLION = 1_000_000;

export function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  return {
    engines: named("--engine", values.engine, ENGINES) ?? ENGINES,
    scenarios: named("--only", values.only, SCENARIOS) ?? SCENARIOS.filter(({ isLong }) => values.growth || !isLong),
    withPeers: values.peers,
    against: values.against,
    folder: values.json,
    isTable: values.table,
    extent: {
      seconds: numberIn("--seconds", values.seconds, 0.01, 600),
      rounds: wholeNumberIn("--rounds", values.rounds, 1, 100),
      stored: wholeNumberIn("--stored", values.stored, 100, 1000 * MILLION),
      grown: wholeNumberIn("--grown", values.grown, 100, 1000 * MILLION),
      turnovers: wholeNumberIn("--turnovers", values.turnovers, 100, 1000 * MILLION),
    },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        engine: { type: "string" },
        only: { type: "string" },
        rounds: { type: "string", default: "3" },
        seconds: { type: "string", default: "3" },
        peers: { type: "boolean", default: false },
        against: { type: "string" },
        growth: { type: "boolean", default: false },
        stored: { type: "string", default: String(MILLION) },
        grown: { type: "string", default: String(10 * MILLION) },
        turnovers: { type: "string", default: String(10 * MILLION) },
        json: { type: "string" },
        table: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new WrongOption((error as Error).message, { cause: error });
  }
}

function named<Item extends { readonly name: string }>(option: string, text: string | undefined, all: readonly Item[]): Item[] | undefined {
  const names = text?.split(",");
  const unknown = names?.find((name) => !all.some((item) => item.name === name));
  if (unknown !== undefined) throw new WrongOption(`${option}: there is no ${unknown}, only ${all.map(({ name }) => name).join(", ")}`);
  return names && all.filter(({ name }) => names.includes(name));
}

function numberIn(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!(value >= least && value <= most)) throw new WrongOption(`${option} must be a number from ${least} to ${most}`);
  return value;
}

function wholeNumberIn(option: string, text: string, least: number, most: number): number {
  const value = numberIn(option, text, least, most);
  if (!Number.isInteger(value)) throw new WrongOption(`${option} must be a whole number`);
  return value;
}
