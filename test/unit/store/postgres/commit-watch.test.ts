import type pg from "pg";
import { describe, expect, test } from "vitest";
import { connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

const connected = (): Promise<pg.Client> => connectedTo(server());

/** What the processes of a store are told, one topic after the other. */
async function listenTo(url: string) {
  const channel = schemaOf(url);
  const topics: string[] = [];
  let heard = (): void => {};
  const client = await connected();
  client.on("notification", ({ payload = "" }) => {
    topics.push(...payload.split(" ").slice(1));
    heard();
  });
  await client.query(`listen "${channel}"`);
  const hears = async (topic: string): Promise<void> => {
    while (!topics.includes(topic)) await new Promise<void>((resolve) => (heard = resolve));
  };
  return {
    hears,
    /** All that was told so far: notifications come in the order of their commits. */
    async all(): Promise<string[]> {
      await client.query("select pg_notify($1, 'test last')", [channel]);
      await hears("last");
      return topics.slice(0, -1);
    },
  };
}

describe("a transaction of the caller's", () => {
  test("that brought many jobs one by one tells each thing once, and of times the earliest", async () => {
    const url = freshUrl(server());
    const told = await listenTo(url);
    const store = await openStoreOn(url);
    const client = await connected();
    await client.query("begin");
    for (const delay of ["3s", "1s", "2s"] as const) await store.within(client)!.insert([jobOf({ queue: "mail", delay })]);
    for (let nth = 0; nth < 20; nth++) await store.within(client)!.insert([jobOf({ queue: "mail" })]);
    await client.query("commit");
    await told.hears("work:mail");
    await store.close();
    expect((await told.all()).toSorted()).toEqual(["due:1000", "work:mail"]);
  });

  test("that is committed just before the store is closed is told to others", async () => {
    const url = freshUrl(server());
    const told = await listenTo(url);
    const store = await openStoreOn(url);
    const client = await connected();
    await client.query("begin");
    await store.within(client)!.insert([jobOf({ queue: "mail" })]);
    await client.query("commit");
    await store.close();
    expect(await told.all()).toEqual(["work:mail"]);
  });

  test("whose number the server does not know, as after a failover, keeps no other from being told", async () => {
    const url = freshUrl(server());
    const told = await listenTo(url);
    const store = await openStoreOn(url);
    const client = await connected();
    const fromElsewhere = {
      async query(text: string, values: unknown[]) {
        const { rows } = await client.query<{ answer: string }>(text, values);
        return { rows: rows.map(({ answer }) => ({ answer: answer.replace(/\[\s*"\d+"/, '["999999999999"') })) };
      },
    };
    await client.query("begin");
    await store.within(fromElsewhere)!.insert([jobOf({ queue: "elsewhere" })]);
    await client.query("commit; begin");
    await store.within(client)!.insert([jobOf({ queue: "here" })]);
    await client.query("commit");
    await told.hears("work:elsewhere");
    await told.hears("work:here");
  });
});
