// The page of one queue: its figures over time, what waits in it, who works on it, its settings and its errors.

import { expect, test } from "vitest";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";

const open = stage();

test("a queue has a page of its own, from its row, with figures over time as charts and as tables", async () => {
  const { client, visit } = await open();
  await client.enqueueMany([{ type: "a", queue: "mail" }, { type: "a", queue: "mail" }, { type: "other" }]);
  await client.enqueue("bad", null, { queue: "mail" });
  await letDie(client, "bad", "550 no such mailbox", "mail");
  await using _worker = client.work({ a: () => null }, { queues: ["mail"] });
  await eventually(async () => (await client.stats()).totalProcessed).toBe(2);
  const page = await visit("queues");
  await page.getByRole("link", { name: "mail", exact: true }).click();
  await page.getByRole("heading", { name: "mail", exact: true }).waitFor();
  expect(page.url()).toMatch(/queues\/mail$/);
  await page.getByRole("slider", { name: "Run time, point by point" }).waitFor();
  await page.getByRole("group", { name: "Time range" }).getByRole("button", { name: "1 h" }).click();
  await page.getByRole("slider", { name: "Jobs per minute, point by point" }).waitFor();
  for (let tables = 0; tables < 4; tables++) await page.getByRole("button", { name: "Show as a table" }).first().click();
  // What was counted may be in one minute, or in two.
  const columns = async (name: string): Promise<string[][]> => {
    const rows = await page.getByRole("table", { name }).getByRole("row").all();
    return Promise.all(rows.slice(1, 4).map((row) => row.getByRole("cell").allTextContents()));
  };
  const sum = async (name: string, column: number): Promise<number> =>
    (await columns(name)).reduce((total, cells) => total + Number(cells[column]), 0);
  await eventually(() => sum("Jobs over time, the latest first", 1)).toBe(3);
  await eventually(() => sum("Jobs over time, the latest first", 2)).toBe(2);
  expect(await sum("Jobs over time, the latest first", 3)).toBe(1);
  for (const name of ["Wait time over time, the latest first", "Run time over time, the latest first"]) {
    expect((await columns(name)).flat()).toEqual(expect.arrayContaining([expect.stringMatching(/^\d[\d.]* (ms|s)$/)]));
  }
  expect((await columns("Failure rate over time, the latest first")).flat()).toEqual(
    expect.arrayContaining([expect.stringMatching(/ %$/)]),
  );
  await page.getByRole("list", { name: "Errors" }).getByText("550 no such mailbox").waitFor();
  await page.getByRole("group", { name: "Time range" }).getByRole("button", { name: "30 d" }).click();
  await eventually(() => sum("Jobs over time, the latest first", 1)).toBe(3);
  expect((await columns("Run time over time, the latest first")).flat()).toEqual(
    expect.arrayContaining([expect.stringMatching(/^\d[\d.]* (ms|s)$/)]),
  );
});

test("each type has figures of its own, in the queue's table and on its own page", async () => {
  const { client, visit } = await open();
  await client.enqueueMany([
    { type: "a:b", queue: "mail" },
    { type: "a:b", queue: "mail" },
    { type: "idle", queue: "mail" },
    { type: "a:b", queue: "elsewhere" },
  ]);
  await client.enqueue("bad", null, { queue: "mail" });
  await letDie(client, "bad", "550 no such mailbox", "mail");
  await using worker = client.work({ "a:b": () => null }, { queues: ["mail"] });
  await eventually(async () => (await client.stats()).totalProcessed).toBe(2);
  const page = await visit("queues/mail");
  const types = page.getByRole("table", { name: "Types", exact: true });
  await types.getByRole("row", { name: /^idle 1 0 – – –$/ }).waitFor();
  await types.getByRole("row", { name: /^bad 1 0 100 % \S+ m?s \S+ m?s$/ }).waitFor();
  await types.getByRole("row", { name: /^a:b 2 2 0.0 % / }).waitFor();
  await types.getByRole("link", { name: "a:b" }).click();
  await page.getByRole("heading", { name: "a:b", exact: true }).waitFor();
  expect(page.url()).toMatch(/queues\/mail\/types\/a(:|%3A)b$/);
  await page.locator(`[data-worker="${worker.id}"]`).waitFor();
  await page.getByRole("button", { name: "Show as a table" }).first().click();
  const latest = page.getByRole("table", { name: "Jobs over time, the latest first" }).getByRole("row");
  // What was counted may be in one hour, or in two.
  const sum = async (column: number): Promise<number> => {
    const cells = await Promise.all((await latest.all()).slice(1, 3).map((row) => row.getByRole("cell").allTextContents()));
    return cells.reduce((total, texts) => total + Number(texts[column]), 0);
  };
  await eventually(() => sum(1)).toBe(2);
  await eventually(() => sum(2)).toBe(2);
  expect(await page.getByText("550 no such mailbox").count()).toBe(0);
  // The page can be opened by its address, and its jobs lead back to it.
  await page.reload();
  await page.getByRole("link", { name: "Jobs of this type" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(2);
  await page.locator("tr[data-job] a[data-open]").first().click();
  await page.getByRole("heading", { name: "a:b completed" }).getByRole("link").click();
  await page.getByRole("link", { name: "Jobs of this type" }).click();
  await page.getByText("Over time: a:b").getByRole("link").click();
  await page.getByRole("heading", { name: "a:b", exact: true }).waitFor();
});

test("it says what waits, who works on it and how full it is, and leads to its jobs", async () => {
  const { client, visit } = await open();
  await client.configure("mail", { capacity: 10, retention: { age: "7d" } });
  await client.enqueueMany([
    { type: "slow", queue: "mail" },
    { type: "orphan", queue: "mail" },
    { type: "slow", queue: "mail" },
  ]);
  const slow = (_: unknown, { signal }: { signal: AbortSignal }): Promise<unknown> =>
    new Promise((resolve) => signal.addEventListener("abort", resolve));
  await using worker = client.work({ slow }, { queues: ["mail"], concurrency: 1, grace: 0 });
  await using other = client.work({ slow }, { queues: ["default"] });
  const page = await visit("queues/mail");
  const types = page.getByRole("table", { name: "Types with pending jobs" });
  await types.getByRole("row", { name: /^orphan none/ }).waitFor();
  await types.getByRole("row", { name: /^slow live/ }).waitFor();
  await page.locator(`[data-worker="${worker.id}"]`).getByText("1 of 1").waitFor();
  expect(await page.locator(`[data-worker="${other.id}"]`).count()).toBe(0);
  await page.getByText("2 of 10").waitFor();
  await page.getByText("7d", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("dialog", { name: "Pause mail?" }).getByRole("button", { name: "Pause" }).click();
  await page.getByRole("heading", { name: "mail paused" }).waitFor();
  await page.getByRole("list", { name: "Jobs by status" }).getByRole("link", { name: "pending 2" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(2);
  expect(page.url()).toMatch(/jobs\?queue=mail&status=pending$/);
});

test("a queue or a type that does not exist is told so", async () => {
  const { client, visit } = await open();
  const page = await visit("queues/nowhere");
  await page.getByText("There is no such queue").waitFor();
  await page.goto(page.url().replace("nowhere", "no%20name"));
  await page.getByText("There is no such queue").waitFor();
  await page.goto(page.url().replace("no%20name", "nowhere/types/a"));
  await page.getByText("There is no such queue").waitFor();
  await client.configure("nowhere", { capacity: 9 });
  for (const name of ["no%20name", "a"]) {
    await page.goto(page.url().replace(/[^/]+$/, name));
    await page.getByText("There is no such type in nowhere").waitFor();
    expect(await page.getByRole("img").count()).toBe(0);
  }
  await using _worker = client.work({ a: () => null }, { queues: ["nowhere"] });
  await page.getByRole("heading", { name: "Over time" }).waitFor();
});
