// The page of bulk operations: everybody sees those of everybody, also after a reload.

import { expect, test } from "vitest";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";

const open = stage();

test("operations that others started are listed with what they did, and a reload keeps them", async () => {
  const { client, visit } = await open();
  const page = await visit("operations");
  await page.getByText("No operations").waitFor();
  await client.enqueueMany([{ type: "email:send", queue: "mail" }, { type: "email:send", queue: "mail" }, { type: "report:make" }]);
  await letDie(client, "email:send", "550 no such mailbox", "mail");
  const { id } = await client.bulk.start({ action: "retry", filter: { type: "email:send", queue: "mail" } }, { by: "ann" });
  const row = page.locator(`[data-operation="${id}"]`);
  await row.getByText("dead and failed jobs of type email:send in mail").waitFor();
  await row.getByText("completed").waitFor();
  await row.getByText("ann", { exact: true }).waitFor();
  expect(await row.getByRole("cell").allTextContents()).toEqual(expect.arrayContaining(["2 of 2", "2", "0"]));
  await page.reload();
  await row.getByText("completed").waitFor();
  await page.getByText("1 operation on this page").waitFor();
});

test("an error group is named by what its error says: in the dialog, among operations and in the audit", async () => {
  const { client, visit } = await open();
  await client.enqueueMany([{ type: "email:send" }, { type: "email:send" }, { type: "report:make" }]);
  await letDie(client, "email:send", "550 no such mailbox");
  await letDie(client, "report:make", "the disk is full");
  const { groups } = await client.dead.groups();
  const { group } = groups.find(({ message }) => message.includes("mailbox"))!;
  const words = "Discard: 550 no such mailbox";
  const page = await visit("dead");
  await page.locator(`[data-group="${group}"]`).getByRole("button", { name: "Retry 2", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(`Dead jobs with the error "${words}".`).waitFor();
  await dialog.getByRole("button", { name: "Retry them" }).click();
  await page.getByText("2 jobs are queued for retry").waitFor();
  await page.goto(page.url().replace(/dead.*/, "operations"));
  await page.getByText(`Dead jobs with the error "${words}".`).waitFor();
  await page.goto(page.url().replace(/operations.*/, "audit"));
  await page.getByText(`group="${words}" (${group})`).first().waitFor();
});

test("the chip of an error group says what its error says", async () => {
  const { client, visit } = await open();
  await client.enqueue("email:send");
  await letDie(client, "email:send", "550 no such mailbox");
  const [found] = (await client.dead.groups()).groups;
  const page = await visit(`jobs?group=${found!.group}`);
  await page.getByText("Discard: 550 no such mailbox").first().waitFor();
  expect(await page.getByText(found!.group).count()).toBe(0);
});

test("the page has the newest operations, and pages with older ones", async () => {
  const { client, visit } = await open();
  for (let n = 0; n < 26; n++) await client.wait((await client.bulk.start({ action: "cancel", filter: { tag: `t${n}` } })).id);
  const page = await visit("operations", { rows: 25 });
  await page.getByText("25 operations on this page").waitFor();
  await page.locator("[data-operation]").first().getByText("with the tag t25").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("1 operation on this page").waitFor();
  await page.getByText("with the tag t0").waitFor();
  await page.getByRole("button", { name: "Previous" }).click();
  await page.getByText("25 operations on this page").waitFor();
});

test("a running operation shows its progress and is stopped, and one that could not change all says which jobs", async () => {
  const { client, visit } = await open();
  await client.enqueueMany([{ type: "a" }, { type: "b" }]);
  const { id } = await client.bulk.start({ action: "cancel", filter: { type: "a" } });
  await client.wait(id);
  const [other] = (await client.list({ type: "b" })).jobs;
  const page = await visit();
  // An operation of this size would be over before anybody saw it: the server says that it runs, until it is told to stop.
  let stopped = "";
  const failures = [{ id: other?.id, code: "wrong_status", message: "the job is running" }];
  await page.route(/api\/v1\/bulk(\?.*)?$/, async (route) => {
    const answer = await route.fetch();
    const { operations, next_cursor } = (await answer.json()) as { operations: object[]; next_cursor: string | null };
    const [real] = operations;
    const now = {
      ...real,
      status: stopped === "" ? "running" : "stopped",
      matched: 4000,
      processed: 1000,
      succeeded: 999,
      failed: 1,
      failures,
    };
    await route.fulfill({ response: answer, json: { operations: [now], next_cursor } });
  });
  await page.route(/api\/v1\/bulk\/[^/]+\/stop$/, async (route) => {
    stopped = route.request().url();
    const answer = await page.request.get(stopped.replace(/\/stop$/, ""));
    await route.fulfill({ response: answer });
  });
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  const row = page.locator(`[data-operation="${id}"]`);
  await row.getByText("1,000 of 4,000").waitFor();
  await page.getByRole("button", { name: /^Details of cancel/ }).click();
  await page.getByRole("list", { name: "Jobs that were not changed" }).getByText("The job is running.").waitFor();
  await row.getByRole("button", { name: "Stop" }).click();
  await row.getByText("stopped").waitFor();
  expect(stopped).toContain(id);
  await eventually(() => row.getByRole("button", { name: "Stop" }).count()).toBe(0);
});

test("the strip of a running operation leads to the page", async () => {
  const { client, visit } = await open();
  await client.enqueueMany([{ type: "a" }, { type: "a" }]);
  await letDie(client, "a", "no");
  const page = await visit("dead");
  await page.route(/api\/v1\/bulk\/[^/]+$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), ended_at: null, status: "running" } });
  });
  await page.getByRole("button", { name: /^Retry all/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Retry them" }).click();
  await page.getByRole("link", { name: "All operations" }).click();
  await page.getByRole("heading", { name: "Operations" }).waitFor();
  await page.locator("[data-operation]").getByText("Retry").waitFor();
});
