/**
 * `npm run bench [-- --engine memory|sqlite --peers --scale 0.1 --json FILE]`: prints a table and JSON. Every figure that depends on the
 * machine stands beside a bare-statement baseline of the same run, so that the ratio holds on any machine.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { benchMemory } from "./memory.ts";
import { installPeers } from "./peers.ts";
import { type Figure, printTable, ratioOf } from "./report.ts";
import { benchSqlite } from "./sqlite.ts";

const { values: options } = parseArgs({
  options: {
    engine: { type: "string", default: "all" },
    peers: { type: "boolean", default: false },
    scale: { type: "string", default: "1" },
    json: { type: "string" },
  },
});

const scale = Number(options.scale);
const wants = (engine: string): boolean => options.engine === "all" || options.engine === engine;
if (options.peers) installPeers();

const figures: Figure[] = [];
if (wants("memory")) figures.push(...(await benchMemory(scale)));
if (wants("sqlite")) figures.push(...(await benchSqlite(scale, options.peers)));

printTable(figures);
const json = JSON.stringify({
  node: process.version,
  sqlite: process.versions.sqlite,
  scale,
  figures: figures.map((figure) => ({ ...figure, ratio: ratioOf(figure) })),
});
if (options.json === undefined) console.log(json);
else writeFileSync(options.json, json);
