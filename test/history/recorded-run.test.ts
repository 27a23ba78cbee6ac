import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { clientOver } from "../../src/assembly/client-over.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/open-store.ts";
import { type Script, scriptedHandler, type Step } from "../simulation/handler.ts";
import { checkFiles } from "./check-history.ts";
import { dumpStore, readClock } from "./dump.ts";
import { readHistory } from "./read-history.ts";
import { type Recorder, recordToFile } from "./recorder.ts";
import { recordingStore } from "./recording-store.ts";

const LEASE_MS = 5_000;
const STEPS: readonly (readonly Step[])[] = [
  [["ok", 5]],
  [
    ["throw", 1],
    ["ok", 1],
  ],
  [["discard", 1]],
  [["notes", 20]],
  [
    ["retry-after", 1, 50],
    ["ok", 1],
  ],
];

test("what real connections to a real store write down on a real clock is a sound history", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-recorded-run-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const url = `sqlite:${join(folder, "jobs.db")}`;
  const paths: string[] = [];

  /** As each process of a run does it: a file of its own, a connection of its own. */
  async function joinAs(name: string): Promise<{ client: Client; recorder: Recorder }> {
    const path = join(folder, `${name}.jsonl`);
    paths.push(path);
    const { recorder, close } = recordToFile(path, `${name}.1`);
    onTestFinished(close);
    const client = clientOver(recordingStore(await openStore(url), recorder), { clock: systemClock, random: Math.random });
    return { client, recorder };
  }

  const producer = await joinAs("producer");
  const workers = [await joinAs("one"), await joinAs("two")];
  const observer = await openStore(url);
  await readClock(observer, producer.recorder);
  const handles = workers.map(({ client, recorder }) => {
    const worker = client.work({ "*": scriptedHandler(recorder, systemClock) }, { concurrency: 3, lease: LEASE_MS });
    recorder.see("up", { worker: worker.id, slots: 3, queues: ["default"], types: "*", leaseMs: LEASE_MS, pollMs: 1_000 });
    return { worker, recorder };
  });

  const jobs = Array.from({ length: 60 }, (_, index) => {
    const payload: Script = { tag: String(index), steps: STEPS[index % STEPS.length]! };
    return { type: "task", payload, priority: index % 3, retryDelay: 20, ...(index % 7 === 0 ? { delay: 30 } : {}) };
  });
  const results = await producer.client.enqueueMany(jobs);
  const ids = results.map((result) => (result.ok ? result.job.id : expect.unreachable(result.error.message)));
  await Promise.all(ids.map((id) => producer.client.wait(id)));
  await producer.client.remove(ids[0]!);

  for (const { worker, recorder } of handles) {
    recorder.see("stopping", { worker: worker.id, graceMs: 1_000 });
    await worker.stop({ grace: 1_000 });
    recorder.see("stopped", { worker: worker.id });
  }
  await Promise.all([producer, ...workers].map(({ client }) => client.close()));
  producer.recorder.see("calm", { boundMs: 0 });
  await dumpStore(observer, producer.recorder);
  await observer.close();

  expect(checkFiles(paths)).toEqual([]);
  expect([...readHistory(paths)].filter((line) => "is" in line && line.is === "stored-job")).toHaveLength(59);
});
