/**
 * Whether a server and a worker hold no more after half an hour than after five minutes:
 *
 *   npm run soak -- --minutes 30                     on SQLite, 80 jobs a second
 *   npm run soak -- --minutes 30 --engine postgres --rate 200
 *
 * Prints one line a minute, then the table and the verdict. Ends with 1 if something is not flat.
 */
import { parseArgs } from "node:util";
import { type SoakWishes, soak } from "./run.ts";
import { ENGINES } from "./store-size.ts";
import { tableOf } from "./verdict.ts";

const SAMPLE_EVERY_MS = 60_000;
const DEFAULTS = { engine: "sqlite", minutes: "30", rate: "80" };

const wishes = readWishes();
const { engine, minutes, rate } = wishes;
console.log(`${engine}: ${rate} jobs a second for ${minutes} minutes`);
const { samples, complaints, counts, ended } = await soak({ ...wishes, onSample: ({ minute }) => console.log(`minute ${minute}`) });
console.log(`\n${tableOf(samples)}\n`);
console.log(
  `${counts.enqueued} jobs enqueued, ${ended.completed} completed, ${ended.dead} dead, ${ended.retried} attempts retried, ${counts.pages} pages read, ${counts.reconnects} WebSockets opened and closed`,
);
for (const complaint of complaints) console.log(`not flat: ${complaint}`);
if (complaints.length === 0) console.log("flat: heap after a forced collection, descriptors, handles, and what the store holds");
process.exitCode = complaints.length === 0 ? 0 : 1;

function readWishes(): SoakWishes {
  const { values } = parseArgs({
    options: {
      engine: { type: "string", default: DEFAULTS.engine },
      minutes: { type: "string", default: DEFAULTS.minutes },
      rate: { type: "string", default: DEFAULTS.rate },
    },
  });
  const known = ENGINES.find((name) => name === values.engine) ?? refuse(`--engine must be ${ENGINES.join(", ")}; got ${values.engine}`);
  return {
    engine: known,
    minutes: numberOf("minutes", values.minutes),
    rate: numberOf("rate", values.rate),
    sampleEveryMs: SAMPLE_EVERY_MS,
  };
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? value : refuse(`--${name} must be a number above 0; got ${text}`);
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}
