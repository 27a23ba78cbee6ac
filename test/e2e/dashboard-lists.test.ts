// Lists of the dashboard: their order, the time that they show, and searches that go on by themselves.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";

const open = stage();

const types = (page: Page): Promise<string[]> => page.locator("tr[data-job] td:nth-child(3)").allTextContents();

/** Lets jobs of these types die, one after the other, each at a time of its own. */
async function dieInTurn(client: Client, ...names: readonly string[]): Promise<void> {
  for (const type of names) {
    await letDie(client, type, `${type} broke`);
    const { jobs } = await client.dead.list({ type });
    await eventually(() => Date.now() > jobs[0]!.completedAt!).toBe(true);
  }
}

describe("dead letters", () => {
  test("come by when they died, and can be those of the last 15 minutes", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "first" }, { type: "second" }, { type: "third" }]);
    await dieInTurn(client, "second", "third", "first");
    const page = await visit("dead");
    await eventually(() => types(page)).toEqual(["first", "third", "second"]);
    await page.getByRole("columnheader", { name: "Died" }).waitFor();
    const asked = page.waitForRequest(/api\/v1\/dead\?.*ended_from=/);
    await page.getByRole("combobox", { name: "Died" }).selectOption({ label: "Died in the last 15 minutes" });
    await asked;
    expect(new URL(page.url()).searchParams.get("ended")).toBe("15m");
    await eventually(() => types(page)).toEqual(["first", "third", "second"]);
    await client.enqueueMany([{ type: "late" }]);
    await page.getByRole("button", { name: "Retry all matches" }).click();
    const started = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/api/v1/bulk"));
    await page.getByRole("dialog").getByRole("button", { name: "Retry them" }).click();
    const { filter } = (await started).postDataJSON() as { filter: Record<string, unknown> };
    expect(filter).toMatchObject({ status: "dead", ended_from: expect.any(Number) as number });
    await eventually(async () => (await client.stats()).counts.dead).toBe(0);
  });
});

describe("lists of one status", () => {
  test("come in its order, and show the time that they are sorted by", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([
      { type: "soon", delay: "1h" },
      { type: "late", delay: "5h" },
      { type: "sooner", delay: "30m" },
      { type: "low", priority: "low" },
      { type: "high", priority: "high" },
      { type: "one" },
      { type: "two" },
    ]);
    await dieInTurn(client, "two", "one");
    const page = await visit("jobs?status=dead");
    await eventually(() => types(page)).toEqual(["one", "two"]);
    await page.getByRole("columnheader", { name: "Ended" }).waitFor();
    await page.getByText("the latest end first").waitFor();
    const tabs = page.getByRole("navigation", { name: "By status" });
    await tabs.getByRole("link", { name: /^Scheduled/ }).click();
    await eventually(() => types(page)).toEqual(["sooner", "soon", "late"]);
    await page.getByRole("columnheader", { name: "Due" }).waitFor();
    await tabs.getByRole("link", { name: /^Pending/ }).click();
    await eventually(() => types(page)).toEqual(["high", "low"]);
    await page.getByRole("columnheader", { name: "Created" }).waitFor();
    expect(await page.getByRole("columnheader", { name: "Due" }).count()).toBe(0);
    await tabs.getByRole("link", { name: /^All/ }).click();
    await eventually(async () => (await types(page))[0]).toBe("two");
    await page.getByRole("columnheader", { name: "Created" }).waitFor();
    await page.getByRole("link", { name: "Schedules" }).first().click();
    await page.getByRole("link", { name: /Delayed/ }).click();
    await eventually(() => types(page)).toEqual(["sooner", "soon", "late"]);
  });
});

describe("a search", () => {
  test("goes on by itself, shows how far it has looked, and can be stopped", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("wanted", "needle");
    await client.cancel(id);
    for (let batch = 0; batch < 21; batch++) await client.enqueueMany(Array.from({ length: 1_000 }, () => ({ type: "hay" })));
    const page = await visit("jobs");
    await eventually(async () => (await types(page)).length).toBeGreaterThan(0);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/api\/v1\/jobs\?.*cursor=/, async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole("combobox", { name: "Text in the job" }).fill("needle");
    await page.getByText("Looking through about 10,000 of 21,001 jobs").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    release();
    await page.getByText("Looked through about 20,000 of 21,001 jobs").waitFor();
    await page.getByText("None so far").waitFor();
    expect(await types(page)).toEqual([]);
    await page.getByRole("button", { name: "Next" }).click();
    await eventually(() => types(page)).toEqual(["wanted"]);
    await page.goto(page.url().replace(/&?cursor=[^&]*/, ""));
    await eventually(() => types(page)).toEqual(["wanted"]);
    await page.getByText("Looked through about 21,001 of 21,001 jobs").waitFor();
    await page.locator("tr[data-job]").getByRole("checkbox").check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("No matches").waitFor();
  });

  test("with a span does not start over with the next minute", async () => {
    const { client, url, visit } = await open();
    await client.enqueue("wanted", "needle");
    const page = await visit();
    await page.clock.install();
    const asked: (string | null)[] = [];
    page.on("request", (request) => {
      if (request.url().includes("api/v1/jobs?q=needle")) asked.push(new URL(request.url()).searchParams.get("from"));
    });
    await page.goto(`${url}jobs?q=needle&from=1h`);
    await eventually(() => types(page)).toEqual(["wanted"]);
    const before = asked.length;
    await page.clock.fastForward(60_000);
    await eventually(() => asked.length).toBeGreaterThan(before);
    expect(new Set(asked).size).toBe(1);
  });
});
