import { type Client, MillraceError } from "millrace";
import { until } from "./until.ts";

/** As `until`, but nobody has to wait for jobs that were lost several times: they stay away for up to five minutes, and are called back. */
export async function untilHurried(client: Client, question: () => Promise<boolean>): Promise<void> {
  await until(async () => {
    if (await question()) return true;
    const { jobs } = await client.list({ status: "retrying", limit: 1000 });
    await Promise.all(jobs.map(({ id }) => runNow(client, id)));
    return false;
  });
}

/** Starts a job that waits for its time; one whose time has come meanwhile needs no help. */
export async function runNow(client: Client, id: string): Promise<void> {
  try {
    await client.retry(id, { now: true });
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== "wrong_status") throw error;
  }
}
