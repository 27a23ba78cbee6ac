/** What a handler can throw: an error is retried, RetryAfter says when, Discard gives up, Snooze waits at no cost. */
import { connect, Discard, RetryAfter, Snooze } from "millrace";

const client = await connect("memory:", { onTrouble: ({ message }) => console.log(message) });
const calls: Record<string, number> = {};
const nth = (type: string): number => (calls[type] = (calls[type] ?? 0) + 1);

const worker = client.work({
  flaky: async () => {
    if (nth("flaky") < 3) throw new Error("try again");
    return "third time lucky";
  },
  limited: async () => {
    if (nth("limited") === 1) throw new RetryAfter("50ms");
    return "after the rate limit";
  },
  early: async () => {
    if (nth("early") === 1) throw new Snooze("1s");
    return "now it is time";
  },
  hopeless: async () => {
    throw new Discard("the customer is gone");
  },
});

for (const type of ["flaky", "limited", "early", "hopeless"]) {
  const { id } = await client.enqueue(type, null, { retryDelay: "20ms" });
  const job = await client.wait(id);
  console.log(
    `${type}: ${job.status} after ${job.attempt} attempts and ${job.retryCount} retries: ${job.error?.message ?? String(job.result)}`,
  );
}

await worker.stop();
await client.close();
