/** What `millrace worker` writes into its log about what only it can know. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { connect } from "../../src/index.ts";
import { type RunningCli, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

type Line = Record<string, unknown>;

async function startWorker(folder: string): Promise<RunningCli> {
  writeFileSync(join(folder, "jobs.mjs"), `export default { mail: () => null };`);
  const env = { MILLRACE_URL: `sqlite:${join(folder, "jobs.db")}`, LOG_LEVEL: "warn" };
  const cli = startCli(["worker", "--handlers", "./jobs.mjs"], { cwd: folder, env });
  await cli.said("a worker for 1 type");
  return cli;
}

function linesOf({ output }: RunningCli): Line[] {
  return output.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

test("a lease that is lost is one line with job, worker, fence and retries", async () => {
  const folder = temporaryFolder();
  const client = await connect(`sqlite:${join(folder, "jobs.db")}`);
  const { id } = await client.enqueue("other", null, { maxRetries: 2 });
  const claim = { workerId: "ghost", queues: ["default"], types: ["other"], limit: 1, leaseMs: 1000, turn: 1, again: false };
  const { jobs } = await client.leases.exchange([], claim);
  await client.close();
  const cli = await startWorker(folder);
  await cli.said("lease lost");
  const lost = linesOf(cli).filter(({ msg }) => String(msg).startsWith("lease lost"));
  expect(lost).toMatchObject([
    {
      level: "warn",
      job_id: id,
      type: "other",
      queue: "default",
      worker_id: "ghost",
      fence: jobs[0]!.fence,
      retry_count: 0,
      status: "retrying",
    },
  ]);
});

test("a store that cannot be reached is a line", async () => {
  const folder = temporaryFolder();
  const cli = await startWorker(folder);
  const other = new DatabaseSync(join(folder, "jobs.db"));
  other.exec("begin immediate");
  try {
    await cli.said('"trouble":"store"');
  } finally {
    other.exec("rollback");
    other.close();
  }
  const [line] = linesOf(cli).filter(({ trouble }) => trouble === "store");
  expect(line).toMatchObject({
    level: "warn",
    msg: expect.stringContaining("cannot reach the store") as string,
    error: { name: "MillraceError" },
  });
});
