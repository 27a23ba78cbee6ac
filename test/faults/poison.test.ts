import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect, type Job } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { startProgram, temporaryFolder } from "../e2e/run-program.ts";
import { runNow } from "./hurry.ts";
import { until } from "./until.ts";

const HEALTHY = 40;
const PROGRAM = fileURLToPath(new URL("../e2e/programs/worker.ts", import.meta.url));
const TERMINAL = ["completed", "dead", "failed", "cancelled"];

/** Keeps two workers alive, as whoever runs a service does: one that dies is started again. */
function keepAlive(args: readonly string[]): void {
  const kills: (() => void)[] = [];
  const over = new AbortController();
  const keepOne = async (): Promise<void> => {
    while (!over.signal.aborted) await startProgram(PROGRAM, args, { atTheEnd: (kill) => kills.push(kill) }).ended;
  };
  onTestFinished(() => {
    over.abort();
    for (const kill of kills) kill();
  });
  void Promise.all([keepOne(), keepOne()]);
}

async function jobs(client: Client, ids: readonly string[]): Promise<Job[]> {
  return (await Promise.all(ids.map((id) => client.get(id)))) as Job[];
}

test("a job that kills its process ends dead and says why; of its healthy neighbours none does", { timeout: 300_000 }, async () => {
  const folder = temporaryFolder();
  const url = `sqlite:${join(folder, "jobs.db")}`;
  const client = await connect(url);
  onTestFinished(() => client.close());
  const options = { maxRetries: 2, retryDelay: "10ms" } as const;
  const poison = await client.enqueue("poison", null, options);
  const healthy = await Promise.all(Array.from({ length: HEALTHY }, () => client.enqueue("task", null, options)));
  const ids = healthy.map(({ id }) => id);
  keepAlive([url, join(folder, "ledger.jsonl"), JSON.stringify({ runMs: 200, concurrency: 30 })]);

  await until(async () => (await jobs(client, ids)).every(({ status }) => TERMINAL.includes(status)));
  const ended = await jobs(client, ids);
  expect(ended.filter(({ status }) => status !== "completed")).toEqual([]);
  expect(ended.map(({ retryCount }) => retryCount)).toEqual(ids.map(() => 0));
  // It had company when it struck: else this shows nothing.
  expect(Math.max(...ended.map(({ lostCount }) => lostCount))).toBeGreaterThanOrEqual(2);

  // Nobody is beside it any more; what is left of its waits is only long.
  await until(async () => {
    const job = (await client.get(poison.id))!;
    if (job.status === "retrying") await runNow(client, poison.id);
    return TERMINAL.includes(job.status);
  });
  expect(await client.get(poison.id)).toMatchObject({
    status: "dead",
    attempt: 4,
    retryCount: 0,
    lostCount: 4,
    maxLost: 3,
    error: { kind: "lost", message: expect.stringContaining("its worker died or was cut off 4 times while it ran") as string },
  });
  expect((await client.stats()).counts).toMatchObject({ completed: HEALTHY, dead: 1, failed: 0, retrying: 0, running: 0, pending: 0 });
});
