/**
 * `npm run bench [-- --engine memory|sqlite|postgres|redis|cli --peers --scale 0.1 --rounds 3 --json FILE]`: prints a table and JSON. Figures
 * depend on the machine, so each is compared with bare statements or another queue in the same run: the ratio matters.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Engine } from "./engines/engine.ts";
import { memory } from "./engines/memory.ts";
import { postgres } from "./engines/postgres.ts";
import { redis } from "./engines/redis.ts";
import { sqlite } from "./engines/sqlite.ts";
import { measureEngine } from "./figures/measure-engine.ts";
import { startUpFigures } from "./figures/start-up.ts";
import { installedPeers, installPeers } from "./peers/install.ts";
import { type Figure, figuresForJson, tableOf } from "./report.ts";

const ENGINES: readonly Engine[] = [memory, sqlite, postgres, redis];

const { values: options } = parseArgs({
  options: {
    engine: { type: "string", default: "all" },
    peers: { type: "boolean", default: false },
    scale: { type: "string", default: "1" },
    rounds: { type: "string", default: "3" },
    json: { type: "string" },
  },
});
const engines = options.engine === "all" ? ENGINES : ENGINES.filter(({ name }) => name === options.engine);
const scale = Number(options.scale);
const rounds = Number(options.rounds);
const withStartUp = options.engine === "all" || options.engine === "cli";
if (engines.length === 0 && !withStartUp) refuse(`--engine must be all, cli or one of ${ENGINES.map(({ name }) => name).join(", ")}`);
if (!(scale > 0 && scale <= 10)) refuse("--scale must be a number above 0, at most 10");
if (!(Number.isInteger(rounds) && rounds >= 1 && rounds <= 100)) refuse("--rounds must be a whole number from 1 to 100");

// process.exit removes folders and stops servers, also after Ctrl-C.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

if (options.peers) installPeers();
const peers = options.peers ? installedPeers() : [];

const places: Record<string, string> = {};
const figures: Figure[] = [];
for (const engine of engines) {
  try {
    const measured = await measureEngine(engine, { scale, rounds, withPeers: options.peers });
    places[engine.name] = measured.about;
    figures.push(...measured.figures);
    for (const failure of measured.failures) tellFailure(engine, failure);
  } catch (error) {
    places[engine.name] = "not measured";
    tellFailure(engine, error);
  }
}
if (withStartUp) {
  try {
    figures.push(...(await startUpFigures(rounds)));
  } catch (error) {
    tellFailure({ name: "the start of the command line" }, error);
  }
}

console.log(tableOf(figures));
for (const [name, about] of Object.entries(places)) console.log(`${name}: ${about}`);
if (peers.length > 0) console.log(`peers: ${peers.join(", ")}`);
console.log(`The best of ${rounds} round${rounds === 1 ? "" : "s"}, on Node ${process.versions.node}; ratios compare the best rounds.`);
const json = JSON.stringify({ node: process.version, scale, rounds, places, peers, figures: figuresForJson(figures) });
if (options.json === undefined) console.log(json);
else writeFileSync(options.json, json);

function tellFailure({ name }: Pick<Engine, "name">, error: unknown): void {
  console.error(`${name} could not be measured:`, error);
  process.exitCode = 1;
}

function refuse(reason: string): never {
  console.error(reason);
  process.exit(2);
}
