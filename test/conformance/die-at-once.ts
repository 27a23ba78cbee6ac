import type { Client } from "../../src/client/client.ts";

/** Claims the jobs of a queue, a thousand at most, and has all of them fail for good, each with a message for its type. */
export async function dieAtOnce(client: Client, queue: string, messageOf: (type: string) => string): Promise<void> {
  const claim = { workerId: "w1", queues: [queue], types: "*" as const, limit: 1_000, leaseMs: 30_000, turn: 1, again: false };
  const { jobs } = await client.leases.exchange([], claim);
  const outcomeOf = (message: string) =>
    ({ kind: "discard", error: { name: "Boom", message, stack: null, kind: "error" }, runMs: 1 }) as const;
  await client.leases.exchange(
    jobs.map(({ job, fence, facts }) => ({ id: job.id, fence, facts, outcome: outcomeOf(messageOf(job.type)) })),
    null,
  );
}
