import { describe, expect, test } from "vitest";
import { claim, die, openClient, type Opened, START } from "./open-client.ts";

async function withJobs(): Promise<Opened> {
  const opened = await openClient();
  const { client, clock } = opened;
  await client.enqueue("dies");
  await die(client);
  await client.enqueue("runs");
  await claim(client);
  await client.enqueue("later", null, { delay: "1h", priority: 15, tags: ["vip"] });
  await clock.advance("1s");
  await client.enqueue("mail", { secret: 1 }, { queue: "mail", priority: "low" });
  return opened;
}

const typesOf = async ({ client }: Opened, query: unknown): Promise<string[]> =>
  (await client.list(query as never)).jobs.map((job) => job.type);

describe("list", () => {
  test.each([
    { filter: { type: "millrace:webhook" }, field: "type", what: "types that begin with millrace:" },
    { filter: { queue: "mail~webhooks" }, field: "queue", what: 'queues with "~" in their name' },
  ])("says how internal jobs are listed: by $field", async ({ filter, field, what }) => {
    const { client } = await openClient();
    const message = `${what} are internal: add internal=true to list them`;
    await expect(client.list(filter)).rejects.toMatchObject({ code: "invalid_input", field, message });
    expect((await client.list({ ...filter, internal: true })).jobs).toEqual([]);
  });

  test("shows the newest first, without payloads", async () => {
    const opened = await withJobs();
    expect(await typesOf(opened, {})).toEqual(["mail", "later", "runs", "dies"]);
    const [first] = (await opened.client.list()).jobs;
    expect(first).not.toHaveProperty("payload");
    expect(first).not.toHaveProperty("result");
  });

  test.each([
    [{ status: "pending" }, ["mail"]],
    [{ status: "QUEUED" }, ["mail"]],
    [{ status: "processing" }, ["runs"]],
    [{ status: "Active" }, ["runs"]],
    [{ status: "done" }, []],
    [{ status: "dead" }, ["dies"]],
    [{ status: "dead_letter" }, ["dies"]],
    [{ status: "dead_lettered" }, ["dies"]],
    [{ status: "failed" }, ["dies"]],
    [{ status: "failed_only" }, []],
    [{ status: ["queued", "scheduled", "pending"] }, ["mail", "later"]],
    [{ type: "runs" }, ["runs"]],
    [{ queue: "mail" }, ["mail"]],
    [{ priority: "low" }, ["mail"]],
    [{ priority: "high" }, ["later"]],
    [{ priority: "default" }, ["runs", "dies"]],
    [{ priority: 15 }, ["later"]],
    [{ tag: "vip" }, ["later"]],
    [{ q: "VIP" }, ["later"]],
    [{ q: '"secret":1' }, ["mail"]],
    [{ q: "e", status: "scheduled" }, ["later"]],
    [{ q: "nowhere" }, []],
    [{ from: START + 1 }, ["mail"]],
    [{ to: new Date(START + 1) }, ["later", "runs", "dies"]],
    [{ from: "2030-01-01T00:00:00Z", to: "2030-01-01T00:00:01Z", status: "scheduled" }, ["later"]],
    [{ type: undefined, cursor: null }, ["mail", "later", "runs", "dies"]],
  ])("finds by %j", async (query, types) => {
    expect(await typesOf(await withJobs(), query)).toEqual(types);
  });

  test("finds a job by its whole id at once, behind more jobs than a page looks at", async () => {
    const { client } = await openClient();
    const wanted = await client.enqueue("wanted", { big: "body" });
    await client.enqueueMany(Array.from({ length: 10_500 }, () => ({ type: "t" })));
    const mentions = await client.enqueue("mentions", { parent: wanted.id });
    const found = await client.list({ q: wanted.id.toUpperCase() });
    expect(found.jobs).toMatchObject([{ id: wanted.id, type: "wanted" }]);
    expect(found.jobs[0]).not.toHaveProperty("payload");
    expect(found.cursor).toBeNull();
    expect((await client.list({ q: wanted.id, type: "wanted" })).jobs).toHaveLength(1);
    // Where it is not that job that is meant, an id is a text.
    expect((await client.list({ q: wanted.id, type: "mentions" })).jobs.map(({ id }) => id)).toEqual([mentions.id]);
    await client.cancel(wanted.id);
    await client.remove(wanted.id);
    expect((await client.list({ q: wanted.id })).jobs.map(({ id }) => id)).toEqual([mentions.id]);
  });

  test("goes through all pages and sees each job once", async () => {
    const { client } = await openClient();
    await client.enqueueMany(Array.from({ length: 25 }, (_, n) => ({ type: `t${n}` })));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof client.list>> = await client.list({ limit: 10, cursor });
      seen.push(...page.jobs.map((job) => job.type));
      ({ cursor } = page);
    } while (cursor !== null);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => `t${24 - n}`));
  });

  test.each([
    [{ status: "nonsense" }, "status"],
    [{ status: [] }, "status"],
    [{ status: ["pending", 5] }, "status"],
    [{ status: "constructor" }, "status"],
    [{ type: "a b" }, "type"],
    [{ queue: "" }, "queue"],
    [{ priority: 101 }, "priority"],
    [{ priority: "toString" }, "priority"],
    [{ tag: "" }, "tag"],
    [{ q: "" }, "q"],
    [{ q: "x".repeat(201) }, "q"],
    [{ q: 5 }, "q"],
    [{ q: "\u0000" }, "q"],
    [{ from: "yesterday" }, "from"],
    [{ to: 5 }, "to"],
    [{ limit: 0 }, "limit"],
    [{ limit: 1001 }, "limit"],
    [{ limit: "10" }, "limit"],
    [{ page: 2 }, "page"],
    [JSON.parse('{"__proto__": 1}'), "__proto__"],
    [[], "a list of jobs"],
  ])("refuses %j and names what is wrong", async (query: unknown, field) => {
    const { client } = await openClient();
    await expect(client.list(query as never)).rejects.toMatchObject({ code: "invalid_input", field });
  });

  test.each(["nonsense", "", 5, "x".repeat(2000), {}])("refuses the cursor %j", async (cursor) => {
    const { client } = await openClient();
    await expect(client.list({ cursor: cursor as string })).rejects.toMatchObject({ code: "invalid_cursor" });
  });
});
