/** A call is carried out and its answer is lost, or it does not even arrive. What its caller is then told is true. */
import { type Client, type ClaimRequest, connect, type LeasedJob } from "millrace";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ENGINES, type FaultyServer } from "./servers.ts";
import { until } from "./until.ts";

const UNSURE = { code: "store_unavailable", message: expect.stringMatching(/answer .* was lost.*Check, then try again/) as string };

describe.each(ENGINES)("on $name", ({ start }) => {
  let server: FaultyServer;
  beforeAll(async () => {
    server = await start();
    await everyVerbOnce();
  });
  afterAll(() => server.stop());

  async function open(url = server.store().wiredUrl, options: { upkeep?: boolean } = {}): Promise<Client> {
    const client = await connect(url, options);
    onTestFinished(() => client.close());
    return client;
  }

  /** A script that a server does not know is not carried out, and to lose that answer would prove nothing. */
  async function everyVerbOnce(): Promise<void> {
    const client = await connect(server.store().url);
    const jobs = [await client.enqueue("task"), await client.enqueue("task")];
    await claimAndComplete(client);
    await client.cancel(jobs[1]!.id);
    await client.remove(jobs[1]!.id);
    await durableWorkOnce(client);
    await client.schedules.upsert({ name: "s", every: "1h", type: "task" });
    await client.schedules.run("s");
    await client.schedules.remove("s");
    await client.close();
  }

  /** Steps, a suspension with a call, a signal, and the end of the called job. */
  async function durableWorkOnce(client: Client): Promise<void> {
    const { id } = await client.enqueue("order");
    const lease = await claimOne(client);
    await client.leases.keepSteps({ id, fence: lease.fence, steps: [KEPT] });
    await client.leases.readSteps({ id, fence: lease.fence });
    await client.leases.exchange([suspended(lease)], null);
    const part = await claimOne(client);
    await client.signal(id, "go");
    await client.leases.exchange([completed(part)], null);
    await client.cancel(id);
  }

  /** Makes a call whose answer is lost, that to its n-th request. */
  async function withoutAnswer<Answer>(call: () => Promise<Answer>, nth = 1): Promise<Answer> {
    const lost = server.wire.swallowAnswerTo(server.request, nth);
    const calling = call();
    await Promise.all([lost, calling.catch(() => {})]);
    return calling;
  }

  /** Makes a call that does not arrive at first. */
  async function withoutArrival<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    const dropped = server.wire.dropRequest(server.request);
    const calling = call();
    await Promise.all([dropped, calling.catch(() => {})]);
    return calling;
  }

  test("an enqueue is made again: the job is there once, and its caller knows", async () => {
    const client = await open();
    expect(await withoutAnswer(() => client.enqueue("task", 1))).toMatchObject({ created: true, status: "pending" });
    const keyed = await withoutAnswer(() => client.enqueue("task", 2, { idempotencyKey: "k" }));
    expect(keyed).toMatchObject({ created: true });
    expect(await client.enqueue("task", 2, { idempotencyKey: "k" })).toMatchObject({ created: false, id: keyed.id });
    expect(await client.stats()).toMatchObject({ counts: { pending: 2 }, totalEnqueued: 2 });
  });

  test("a claim is given again what it was granted, and no more", async () => {
    const client = await open();
    for (let number = 0; number < 4; number++) await client.enqueue("task", number);
    const { jobs } = await withoutAnswer(() => client.leases.exchange([], claimOf({ limit: 2 })));
    expect(jobs.map(({ job, fence }) => [job.payload, job.attempt, fence])).toEqual([
      [0, 1, 1],
      [1, 1, 1],
    ]);
    expect((await client.stats()).counts).toMatchObject({ running: 2, pending: 2 });
  });

  test("a report counts once, and the claim that goes with it is answered", async () => {
    const client = await open();
    await client.enqueue("task", 1);
    await client.enqueue("task", 2);
    const { jobs } = await client.leases.exchange([], claimOf({ limit: 1 }));
    const next = await withoutAnswer(() => client.leases.exchange([completed(jobs[0]!)], claimOf({ limit: 1, turn: 2 })));
    expect(next.results).toEqual(["ok"]);
    expect(next.jobs.map(({ job }) => job.payload)).toEqual([2]);
    expect(await client.stats()).toMatchObject({ counts: { completed: 1, running: 1 }, totalProcessed: 1 });
  });

  test("a cancel that was carried out is a success; a retry says that it does not know, and is not done twice", async () => {
    const client = await open();
    const { id } = await client.enqueue("task");
    expect(await withoutAnswer(() => client.cancel(id))).toMatchObject({ status: "cancelled" });
    expect(await client.cancel(id)).toMatchObject({ status: "cancelled" });
    // It looks at the job first.
    await expect(withoutAnswer(() => client.retry(id), 2)).rejects.toMatchObject(UNSURE);
    expect(await client.get(id)).toMatchObject({ status: "pending", attempt: 0 });
  });

  test("a removal that was carried out says that it does not know", async () => {
    const client = await open();
    const { id } = await client.enqueue("task");
    await client.cancel(id);
    await expect(withoutAnswer(() => client.remove(id))).rejects.toMatchObject(UNSURE);
    expect(await client.get(id)).toBeNull();
    await client.schedules.upsert({ name: "hourly", every: "1h", type: "task" });
    await expect(withoutAnswer(() => client.schedules.remove("hourly"))).rejects.toMatchObject(UNSURE);
    expect(await client.schedules.list()).toEqual([]);
  });

  test("changes that did not arrive are made again, and answered as if nothing had been", async () => {
    const client = await open();
    const { id } = await client.enqueue("task");
    expect(await withoutArrival(() => client.cancel(id))).toMatchObject({ status: "cancelled" });
    await withoutArrival(() => client.remove(id));
    expect(await client.get(id)).toBeNull();
    await client.schedules.upsert({ name: "hourly", every: "1h", type: "task" });
    expect(await withoutArrival(() => client.schedules.remove("hourly"))).toBe(true);
  });

  test("a step is stored once, and read back after an answer was lost", async () => {
    const client = await open();
    const { id } = await client.enqueue("order");
    const { fence } = await claimOne(client);
    expect(await withoutAnswer(() => client.leases.keepSteps({ id, fence, steps: [KEPT] }))).toBe("ok");
    const read = await withoutAnswer(() => client.leases.readSteps({ id, fence }));
    expect(read!.steps).toMatchObject([{ name: "one", kind: "step", state: "done", value: "1" }]);
    expect(await client.steps(id)).toMatchObject([{ name: "one", value: 1 }]);
  });

  test("a suspension counts once, and what it calls is there once", async () => {
    const client = await open();
    const { id } = await client.enqueue("order");
    const lease = await claimOne(client);
    const { results } = await withoutAnswer(() => client.leases.exchange([suspended(lease)], null));
    expect(results).toEqual(["ok"]);
    expect(await client.get(id)).toMatchObject({ status: "blocked", attempt: 0 });
    expect(await client.count({ type: "part" })).toMatchObject({ count: 1 });
  });

  test("a signal that was stored is accepted, and another one is not", async () => {
    const client = await open();
    const { id } = await client.enqueue("order");
    await client.leases.exchange([suspended(await claimOne(client))], null);
    expect(await withoutAnswer(() => client.signal(id, "go", { by: "ann" }))).toEqual({ accepted: true });
    expect(await client.get(id)).toMatchObject({ status: "pending" });
    expect(await client.signal(id, "go", { by: "bob" })).toEqual({ accepted: false, reason: "already_received" });
    expect((await client.steps(id)).find(({ name }) => name === "go")).toMatchObject({ state: "done", value: { by: "ann" } });
  });

  test("the end of a called job reaches its caller once, though the answer to its report was lost", async () => {
    const { url, wiredUrl } = server.store();
    const client = await open(wiredUrl);
    const { id } = await client.enqueue("order");
    await client.leases.exchange([suspended(await claimOne(client))], null);
    const part = await claimOne(client);
    const { results } = await withoutAnswer(() => client.leases.exchange([completed(part)], null));
    expect(results).toEqual(["ok"]);
    await open(url, { upkeep: true });
    await until(async () => (await client.get(id))!.status === "pending");
    expect((await client.steps(id)).find(({ name }) => name === "part")).toMatchObject({ state: "done", call: { id: part.job.id } });
  });

  test("a schedule that is run by hand runs once", async () => {
    const client = await open();
    await client.schedules.upsert({ name: "hourly", every: "1h", type: "task" });
    const { id } = await withoutAnswer(() => client.schedules.run("hourly"));
    expect((await client.list()).jobs.map((job) => job.id)).toEqual([id]);
  });
});

function claimOf(change: Partial<ClaimRequest>): ClaimRequest {
  return { workerId: "w", queues: ["default"], types: "*", limit: 10, leaseMs: 30_000, turn: 1, again: false, ...change };
}

function completed({ job, fence, facts }: LeasedJob) {
  return { id: job.id, fence, facts, outcome: { kind: "completed", result: null, runMs: 1 } } as const;
}

const KEPT = { name: "one", kind: "step", state: "done", value: "1", untilMs: null, detail: null } as const;
const WAIT = { name: "go", kind: "wait", state: "open", value: null, untilMs: null, detail: null } as const;
const CALL = { ...WAIT, name: "part", kind: "call" } as const;

/** A report of an attempt that waits for a signal and a called job. */
function suspended({ job, fence, facts }: LeasedJob) {
  const calls = [{ step: "part", type: "part", payload: "{}", options: {} }];
  return { id: job.id, fence, facts, outcome: { kind: "suspend", waits: [WAIT, CALL], calls, life: 1 } } as const;
}

async function claimOne(client: Client): Promise<LeasedJob> {
  const { jobs } = await client.leases.exchange([], claimOf({ limit: 1, turn: 0 }));
  return jobs[0]!;
}

async function claimAndComplete(client: Client): Promise<void> {
  const { jobs } = await client.leases.exchange([], claimOf({ limit: 1 }));
  await client.leases.exchange([completed(jobs[0]!)], null);
}
