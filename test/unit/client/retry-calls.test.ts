import { expect, test } from "vitest";
import { createAnnouncer } from "../../../src/client/announcer.ts";
import { changeJobs } from "../../../src/client/changes.ts";
import type { Client } from "../../../src/client/client.ts";
import type { NewStep } from "../../../src/core/steps.ts";
import type { Store } from "../../../src/store/store.ts";
import { claim, die, openClient, type Opened } from "./open-client.ts";

const waitFor = (name: string): NewStep => ({ name, kind: "call", state: "open", value: null, untilMs: null, detail: null });

/** A job that was cancelled after two jobs that it called had died. */
async function familyOf({ client }: Opened): Promise<{ parent: string; children: string[] }> {
  const { id: parent } = await client.enqueue("order");
  const [lease] = (await claim(client)).jobs;
  const { fence, facts } = lease!;
  const calls = ["a", "b"].map((step) => ({ step, type: "part", payload: "{}", options: { queue: parent } }));
  await client.leases.exchange(
    [{ id: parent, fence, facts, outcome: { kind: "suspend", waits: ["a", "b"].map(waitFor), calls, life: 1 } }],
    null,
  );
  const children = [await die(client, parent), await die(client, parent)];
  await client.cancel(parent);
  return { parent, children };
}

/** From now on a transaction holds a job, until it is released. A call that asks for it alone is told what `alone` says. */
function hold(store: Store, held: string, alone: "locked" | "released"): () => void {
  const change = store.change.bind(store);
  store.change = async (ids, ...rest) => {
    if (!ids.includes(held) || (ids.length === 1 && alone === "released")) return change(ids, ...rest);
    const others = ids.filter((id) => id !== held);
    const answers = others.length === 0 ? [] : await change(others, ...rest);
    return ids.map((id) => (id === held ? { kind: "locked" } : answers[others.indexOf(id)]!));
  };
  return () => (store.change = change);
}

const statuses = async (client: Client, ids: readonly string[]): Promise<unknown[]> =>
  Promise.all(ids.map(async (id) => (await client.get(id))?.status));

test("a retry waits for a called job that a transaction holds, and retries it before the job itself", async () => {
  const opened = await openClient();
  const { client, store } = opened;
  const { parent, children } = await familyOf(opened);
  hold(store, children[0]!, "released");
  await client.retry(parent);
  expect(await statuses(client, [...children, parent])).toEqual(["pending", "pending", "pending"]);
});

test("a job keeps its failure, and is not retried, while a transaction holds a job that it called", async () => {
  const opened = await openClient();
  const { client, store } = opened;
  const { parent, children } = await familyOf(opened);
  const release = hold(store, children[0]!, "locked");
  await expect(client.retry(parent)).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining(children[0]!) as string,
  });
  expect(await statuses(client, [children[0]!, parent])).toEqual(["dead", "cancelled"]);
  release();
  await client.retry(parent);
  expect(await statuses(client, [...children, parent])).toEqual(["pending", "pending", "pending"]);
});

test("of many jobs, only the one whose called job is held is left out, and nobody waits for it", async () => {
  const opened = await openClient();
  const { client, store, clock } = opened;
  const [first, second] = [await familyOf(opened), await familyOf(opened)];
  hold(store, first.children[1]!, "released");
  const parents = [first.parent, second.parent].map((id) => ({ id, hasSteps: true, parent: null }));
  const parts = { store, clock, announcer: createAnnouncer(store, clock) } as unknown as Parameters<typeof changeJobs>[0];
  const answers = await changeJobs(parts, "retry", parents, ["cancelled"], { by: null, reason: null });
  expect(answers.map(({ kind }) => kind)).toEqual(["locked", "ok"]);
  expect(await statuses(client, [first.parent, ...second.children, second.parent])).toEqual(["cancelled", "pending", "pending", "pending"]);
});
