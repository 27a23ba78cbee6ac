// Who changed what, in the dashboard.

import { expect, test } from "vitest";
import { eventually, stage } from "./dashboard/fixture.ts";

const open = stage();

test("the audit shows who changed what, and can be narrowed down", async () => {
  const { client, visit } = await open();
  const { id } = await client.enqueue("report:make", null, { queue: "reports" });
  const page = await visit("audit");
  await page.getByText("No changes").waitFor();
  await client.cancel(id, { by: "ann", reason: "made twice" });
  await client.pause("mail", { create: true, by: "bob" });
  const rows = page.getByRole("table", { name: "Changes" }).locator("tbody tr");
  await eventually(() => rows.allInnerTexts()).toEqual([
    expect.stringMatching(/bob\s+Queue paused\s[\s\S]*mail/),
    expect.stringMatching(/ann\s+Job cancelled\s[\s\S]*reports\s+type=report:make was=pending\s+made twice/),
  ]);
  await rows.getByRole("link", { name: "ann" }).click();
  await eventually(() => rows.count()).toBe(1);
  await page.getByRole("button", { name: "Remove the filter by" }).click();
  await page.getByLabel("Kind of change").selectOption("Queue paused");
  await eventually(() => rows.allInnerTexts()).toEqual([expect.stringContaining("bob")]);
  await page.getByLabel("Kind of change").selectOption("All changes");
  await rows.getByRole("link", { name: id.slice(-8) }).click();
  await page.getByText("Cancelled by ann").waitFor();
});

test("dialogs take a reason for the audit, and a queue and a job lead to their entries", async () => {
  const { client, url, visit } = await open();
  await client.configure("mail", {});
  await client.schedules.upsert({ name: "nightly", cron: "15 3 * * *", type: "t", queue: "mail" });
  const { id } = await client.enqueue("t", null, { queue: "mail" });
  await client.enqueueMany([{ type: "t" }, { type: "t" }]);
  const before = (await client.audit()).entries.length;
  const page = await visit("queues/mail");
  const confirm = async (name: string, reason: string, yes: string): Promise<void> => {
    const dialog = page.getByRole("dialog", { name });
    await dialog.getByLabel("Reason").fill(` ${reason} `);
    await dialog.getByRole("button", { name: yes, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  };
  await page.getByRole("button", { name: "Pause" }).click();
  await confirm("Pause mail?", "the mail server is down", "Pause");
  await page.getByRole("button", { name: "Settings of mail" }).click();
  await page.getByLabel("Capacity").fill("10");
  await confirm("Settings of mail", "too many", "Save");

  await page.goto(`${url}schedules`);
  const change = async (item: string): Promise<void> => {
    await page.getByRole("button", { name: "Change nightly" }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  await page.getByRole("button", { name: "Pause nightly" }).click();
  await confirm("Pause the schedule nightly?", "freeze", "Pause");
  await change("Edit");
  await page.getByLabel("Payload").fill('{ "deep": true }');
  await confirm("Edit nightly", "later", "Save");
  await change("Delete");
  await confirm("Delete the schedule nightly?", "unused", "Delete");

  await page.goto(`${url}jobs?queue=default`);
  await page.getByRole("button", { name: "Bulk actions" }).click();
  await page.getByRole("menuitem", { name: /^Cancel/ }).click();
  await confirm("Cancel 2 jobs?", "sent twice", "Cancel them");
  await eventually(async () => (await client.stats()).counts).toMatchObject({ cancelled: 2 });
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await confirm("Delete 2 jobs?", "no trace", "Delete");

  await client.cancel(id);
  await page.goto(`${url}jobs/${id}`);
  await page.getByRole("button", { name: "Edit and retry" }).click();
  await confirm("Edit and retry", "mistyped", "Save and retry");
  await eventually(async () => (await client.audit({ limit: 1 })).entries).toMatchObject([{ action: "job:edited" }]);
  const { entries } = await client.audit();
  expect(entries.slice(0, -before).map(({ action, reason }) => `${action}: ${reason}`)).toEqual([
    "job:edited: mistyped",
    "job:cancelled: null",
    "job:removed: no trace",
    "job:removed: no trace",
    "bulk:started: sent twice",
    "schedule:removed: unused",
    "schedule:saved: later",
    "schedule:paused: freeze",
    "queue:configured: too many",
    "queue:paused: the mail server is down",
  ]);

  const rows = page.getByRole("table", { name: "Changes" }).locator("tbody tr");
  await page.getByRole("main").getByRole("link", { name: "Audit" }).click();
  await eventually(() => rows.allInnerTexts()).toEqual([expect.stringContaining("mistyped"), expect.stringContaining("Job cancelled")]);
  await page.getByRole("button", { name: "Remove the filter job" }).click();
  await eventually(() => rows.count()).toBe(entries.length);
  await page.goto(`${url}queues/mail`);
  await page.getByRole("main").getByRole("link", { name: "Audit" }).click();
  await page.getByRole("button", { name: "Remove the filter queue" }).waitFor();
  await rows.filter({ hasText: "the mail server is down" }).waitFor();
});
