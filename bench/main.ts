/**
 * `npm run bench`: measures, and prints a table. `CONTRIBUTING.md` explains the options. Figures depend on the machine, so each is compared with
 * bare statements, other queues or another checkout in the same run: the ratio matters.
 */
import { type Options, readOptions, WrongOption } from "./options.ts";
import { pageTable } from "./page-table.ts";
import { installedPeers, installPeers } from "./peers/install.ts";
import { reportOf } from "./report.ts";
import { runEngine } from "./run.ts";
import { machineText, MEASURED, readStored, store, type Stored, thisMachine } from "./stored.ts";
import { loadTree, OUR_FOLDER } from "./tree.ts";

// process.exit removes folders and stops servers, also after Ctrl-C.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

try {
  const options = readOptions(process.argv.slice(2));
  if (options.isTable) console.log(pageTable(readStored(options.folder ?? MEASURED)));
  else await measure(options);
} catch (error) {
  if (!(error instanceof WrongOption)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function measure({ engines, scenarios, withPeers, against, folder, extent }: Options): Promise<void> {
  const machine = thisMachine();
  if (withPeers) installPeers();
  const peers = withPeers ? installedPeers() : [];
  const trees = [await loadTree(OUR_FOLDER), ...(against === undefined ? [] : [await loadTree(against)])] as const;
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const runs: Stored[] = [];
  for (const engine of engines) {
    try {
      const { about, figures, failures } = await runEngine(engine, scenarios, { trees, withPeers, extent, tell });
      const run = { engine: engine.name, about, machine, extent, peers: engine.peers.length === 0 ? [] : peers, figures };
      runs.push(run);
      if (folder !== undefined) store(folder, run);
      failures.forEach(tellFailure);
    } catch (error) {
      tellFailure(new Error(`${engine.name} could not be measured`, { cause: error }));
    }
  }
  console.log(reportOf(runs.flatMap(({ figures }) => figures)));
  for (const { engine, about } of runs) console.log(`${engine}: ${about}`);
  if (peers.length > 0) console.log(`peers: ${peers.join(", ")}`);
  const { rounds, seconds } = extent;
  console.log(
    `Best and median of ${rounds} round${rounds === 1 ? "" : "s"} of at least ${seconds} s, warm-up left out, on ${machineText(machine)}.`,
  );
}

function tellFailure(error: unknown): void {
  console.error(error);
  process.exitCode = 1;
}
