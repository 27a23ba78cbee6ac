import { expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import type { NewStep } from "../../../src/core/steps.ts";
import { claim, openClient } from "./open-client.ts";

const WAIT: NewStep = { name: "part", kind: "call", state: "open", value: null, untilMs: null, detail: null };

test("a store that is away while a call is made fails the report, not the attempt: it is sent again", async () => {
  const { client, store } = await openClient();
  const { id } = await client.enqueue("order", null, { maxRetries: 0 });
  const [lease] = (await claim(client)).jobs;
  const { fence, facts } = lease!;
  const calls = [{ step: "part", type: "part", payload: "{}", options: {} }];
  const report = { id, fence, facts, outcome: { kind: "suspend", waits: [WAIT], calls } } as const;
  const read = store.readSteps.bind(store);
  store.readSteps = async () => {
    throw new MillraceError("store_unavailable", "the store did not answer");
  };
  await expect(client.leases.exchange([report], null)).rejects.toMatchObject({ code: "store_unavailable" });
  expect(await client.get(id)).toMatchObject({ status: "running" });
  store.readSteps = read;
  expect((await client.leases.exchange([report], null)).results).toEqual(["ok"]);
  expect(await client.get(id)).toMatchObject({ status: "blocked" });
});

test("a report that knows the life of its job asks nobody for it: other reports do not wait for the answer", async () => {
  const { client, store } = await openClient();
  const { id } = await client.enqueue("order");
  const [lease] = (await claim(client)).jobs;
  const { fence, facts } = lease!;
  const calls = [{ step: "part", type: "part", payload: "{}", options: {} }];
  store.readSteps = () => new Promise(() => {});
  const report = { id, fence, facts, outcome: { kind: "suspend", waits: [WAIT], calls, life: 1 } } as const;
  expect((await client.leases.exchange([report], null)).results).toEqual(["ok"]);
});

test("a report of a job without steps asks nobody how many it has, or for its life", async () => {
  const { client, store } = await openClient();
  const { id } = await client.enqueue("order");
  const [{ fence } = { fence: 0 }] = (await claim(client)).jobs;
  store.readSteps = () => new Promise(() => {});
  const calls = [{ step: "part", type: "part", payload: "{}", options: {} }];
  const report = { id, fence, outcome: { kind: "suspend", waits: [WAIT], calls } } as const;
  expect((await client.leases.exchange([report], null)).results).toEqual(["ok"]);
});

test("a worker knows the life of the jobs that it runs", async () => {
  const { client, clock } = await openClient();
  const { id } = await client.enqueue("order", null, { maxRetries: 0 });
  const children: (string | null)[] = [];
  client.work({
    order: async (_payload, ctx) => ctx.call("part", "part", null),
    part: (_payload, ctx) => {
      children.push(ctx.job.id);
      throw new Error("broken");
    },
  });
  await clock.advance("1m");
  await client.retry(id, { restart: true });
  await clock.advance("1m");
  expect(new Set(children).size).toBe(2);
  expect((await client.get(id))!.status).toBe("dead");
});
