/** Reads rows that another thread writes all the time, and tells which were torn. */
import { parentPort, workerData } from "node:worker_threads";
import { readSharedRows, type SharedRow } from "../../../src/lib/shared-rows.ts";

const torn: SharedRow[] = [];
let seen = 0;
while (seen < 2000) {
  for (const row of readSharedRows(workerData as SharedArrayBuffer)) {
    seen++;
    if (row.numbers.some((number) => String(number) !== row.text)) torn.push(row);
    if (seen === 2000) break;
  }
}
const port = parentPort!;
port.postMessage({ seen, torn });
