// Limits on the page: what holds, how much of it is used, which keys are busy or held, and how they are changed.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { HoldKey } from "../../src/core/control-errors.ts";
import { eventually, letDie, type Scene, stage } from "./dashboard/fixture.ts";

const openStage = stage();
const open = (options = {}): Promise<Scene> => openStage({ storeUrl: "memory:", ...options });

const untilAborted = (_: unknown, { signal }: { signal: AbortSignal }): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener("abort", resolve));

/** A worker whose jobs run until it stops. */
function workForever(client: Client): AsyncDisposable {
  return client.work({ a: untilAborted }, { queues: ["mail"], concurrency: 20, grace: 0 });
}

const jobsOf = (limitKey: string, count: number): { type: string; queue: string; limitKey: string }[] =>
  Array.from({ length: count }, () => ({ type: "a", queue: "mail", limitKey }));

const busiest = (page: Page, key: string) => page.getByRole("table", { name: "Busiest keys" }).locator(`[data-key="${key}"]`);

test("a queue page shows its limits, their use, and its busiest keys, and follows what happens", async () => {
  const { client, visit } = await open();
  await client.configure("mail", { limits: { running: 4, rate: "100/s", burst: 50, perKey: { running: 2, waiting: 5000 } } });
  await client.limits.set("mail", "globex", { running: 3, rate: "2/h", burst: 2, weight: 3 });
  await client.enqueueMany([...jobsOf("acme", 5), ...jobsOf("globex", 3)]);
  await using _worker = workForever(client);
  await eventually(async () => (await client.limits.use("mail"))?.running).toBe(4);
  const page = await visit("queues");
  await page
    .locator("tr[data-queue=mail]")
    .getByTitle("at most 4 running, 100/s, burst 50; each key: at most 2 running, at most 5,000 waiting")
    .waitFor();
  await page.getByRole("link", { name: "mail", exact: true }).click();
  const limits = page.locator("#limits");
  await limits.getByText("4 of 4").waitFor();
  expect(await limits.getByRole("meter", { name: "running, of the limit of the queue" }).getAttribute("aria-valuenow")).toBe("4");
  await limits.getByText("100/s, burst 50").waitFor();
  await busiest(page, "acme").getByText("2 of 2").waitFor();
  expect(await busiest(page, "acme").getByRole("cell").allTextContents()).toEqual([
    "acme",
    "2 of 2",
    "3 of 5,000",
    "when a job ends",
    "no limit",
    "1",
    "",
  ]);
  expect((await busiest(page, "globex").getByRole("cell").allTextContents()).slice(0, 3)).toEqual(["globex", "2 of 3", "1 of 5,000"]);
  await busiest(page, "globex").getByText("2/h, burst 2").waitFor();
  const own = page.getByRole("table", { name: "Keys with limits of their own" }).getByRole("row").nth(1);
  expect((await own.getByRole("cell").allTextContents()).slice(0, 5)).toEqual(["globex", "3", "2/h, burst 2", "–", "3"]);
  // What happens elsewhere is shown here.
  await client.enqueueMany(jobsOf("late", 1));
  await busiest(page, "late").getByText("1 of 5,000").waitFor();
  await client.configure("mail", { limits: { running: 9 } });
  await limits.getByText("of 9").waitFor();
  await busiest(page, "acme").getByRole("link", { name: "acme" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(5);
  expect(page.url()).toMatch(/jobs\?queue=mail&limit_key=acme$/);
  await page.getByRole("list", { name: "Active filters" }).getByText("limit key acme").waitFor();
});

test("a rate and a hold say when the next job may start, of a paused queue that it has to be resumed", async () => {
  const { client, visit } = await open();
  await client.configure("mail", { limits: { perKey: { rate: "1/h" } } });
  await client.enqueueMany([...jobsOf("acme", 2), { type: "held", queue: "mail", limitKey: "globex" }]);
  const held = (): never => {
    throw new HoldKey("2h");
  };
  await using _worker = client.work({ held, a: untilAborted }, { queues: ["mail"], grace: 0 });
  await eventually(async () => (await client.limits.use("mail"))?.keys.find(({ key }) => key === "globex")?.heldUntil).toEqual(
    expect.any(Number),
  );
  const page = await visit("queues/mail");
  await busiest(page, "acme").getByText("in 59 m").waitFor();
  await busiest(page, "globex").getByText("held", { exact: true }).waitFor();
  await busiest(page, "globex").getByText("in 1 h").waitFor();
  await page.getByRole("link", { name: /^limited.*each key: 1\/h$/ }).click();
  expect(page.url()).toMatch(/queues\/mail#limits$/);
  await client.pause("mail");
  await busiest(page, "acme").getByText("when resumed").waitFor();
});

test("the limits of a queue are set, corrected and removed in a dialog, with a reason, by the keyboard alone", async () => {
  const { client, visit } = await open();
  await client.enqueueMany(Array.from({ length: 3 }, () => ({ type: "a", queue: "mail" })));
  await using _worker = workForever(client);
  await eventually(async () => (await client.queue("mail"))?.counts.running).toBe(3);
  const page = await visit("queues/mail");
  await page.getByText("No limits: a job starts as soon as a worker is free.").waitFor();
  expect(await page.getByRole("table", { name: "Busiest keys" }).count()).toBe(0);
  await page.getByRole("button", { name: "Edit limits" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Limits of mail" });
  const [queue, each] = [dialog.getByRole("group", { name: "The whole queue" }), dialog.getByRole("group", { name: "Each limit key" })];
  await dialog.getByText("3 run now.").waitFor();
  await page.keyboard.type("2");
  await dialog.getByText("3 run now. The next one starts when fewer than 2 run.").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("a lot");
  await each.getByLabel("Waiting").fill("10,000");
  await dialog.getByLabel("Reason").fill("the provider allows two");
  await page.keyboard.press("Enter");
  await queue.getByText('Must be a rate such as "100/s", "20/10s", "5000/h" or "1000/d"; got "a lot".').waitFor();
  expect(await queue.getByLabel("Rate").getAttribute("aria-invalid")).toBe("true");
  expect((await client.queue("mail"))?.limits).toBeNull();
  await queue.getByLabel("Rate").fill("5/s");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.locator("#limits").getByText("3 of 2").waitFor();
  expect((await client.queue("mail"))?.limits).toEqual({
    running: 2,
    rate: "5/s",
    burst: 1,
    perKey: { running: null, rate: null, waiting: 10_000 },
  });
  const { entries } = await client.audit({ queue: "mail" });
  expect(entries[0]).toMatchObject({ action: "queue:configured", reason: "the provider allows two" });
  await page.getByRole("button", { name: "Edit limits" }).click();
  expect(await each.getByLabel("Waiting").inputValue()).toBe("10000");
  for (const field of [queue.getByLabel("Running at once"), queue.getByLabel("Rate"), each.getByLabel("Waiting")]) await field.fill("");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("No limits: a job starts as soon as a worker is free.").waitFor();
  expect((await client.queue("mail"))?.limits).toBeNull();
});

test("one key gets limits of its own; what it has is shown before it is replaced, and is removed", async () => {
  const { client, visit } = await open();
  await client.configure("mail", { limits: { perKey: { running: 2 } } });
  await client.limits.set("mail", "acme", { running: 5, rate: "50/s" });
  await client.enqueueMany(jobsOf("globex", 1));
  const page = await visit("queues/mail");
  // By its name.
  await page.getByRole("button", { name: "Limit a key" }).click();
  await page.getByRole("dialog", { name: "Limit a key of mail" }).getByLabel("Limit key").fill("acme");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Continue" }).click();
  const dialog = page.getByRole("dialog", { name: "Limits of acme" });
  expect(await dialog.getByLabel("Rate").inputValue()).toBe("50/s");
  expect(await dialog.getByLabel("Running at once").inputValue()).toBe("5");
  await dialog.getByLabel("Running at once").fill("none");
  await dialog.getByLabel("Weight").fill("101");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Must be a whole number from 1 to 100; got 101.").waitFor();
  await dialog.getByLabel("Weight").fill("3");
  await dialog.getByLabel("Reason").fill("they pay for it");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Limits of acme are saved").waitFor();
  expect(await client.limits.get("mail", "acme")).toEqual({ running: null, rate: "50/s", burst: 1, weight: 3 });
  const { entries } = await client.audit({ queue: "mail" });
  expect(entries[0]).toMatchObject({ action: "limits:set", reason: "they pay for it" });
  // From its row, and back.
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually(() => client.limits.get("mail", "acme")).toEqual({ running: 5, rate: "50/s", burst: 1 });
  const table = page.getByRole("table", { name: "Keys with limits of their own" });
  await table.getByRole("button", { name: "Limits of acme" }).click();
  await dialog.getByRole("button", { name: "Remove its limits" }).click();
  await table.waitFor({ state: "detached" });
  expect(await client.limits.get("mail", "acme")).toBeNull();
  // A key that only has jobs.
  await busiest(page, "globex").getByRole("button", { name: "Limits of globex" }).click();
  const other = page.getByRole("dialog", { name: "Limits of globex" });
  expect(await other.getByLabel("Running at once").getAttribute("placeholder")).toBe("2");
  expect(await other.getByRole("button", { name: "Remove its limits" }).count()).toBe(0);
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByText("Fill in at least one of the fields.").waitFor();
  await page.keyboard.press("Escape");
  // Jobs without a key have a weight only.
  await page.getByRole("button", { name: "Limit a key" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  const without = page.getByRole("dialog", { name: "Limits of jobs without a key" });
  await eventually(() => without.getByRole("textbox").count()).toBe(2);
  await without.getByLabel("Weight").fill("4");
  await without.getByRole("button", { name: "Save" }).click();
  await table.getByRole("row", { name: /^jobs without a key – – – 4/ }).waitFor();
});

test("keys with limits of their own come page by page", async () => {
  const { client, visit } = await open();
  for (let number = 10; number < 40; number++) await client.limits.set("mail", `key-${number}`, { weight: 2 });
  const page = await visit("queues/mail", { rows: 25 });
  const table = page.getByRole("table", { name: "Keys with limits of their own" });
  await table.getByText("key-10").waitFor();
  expect(await table.getByText("key-35").count()).toBe(0);
  await page.locator("#limits").getByRole("button", { name: "Next" }).click();
  await table.getByText("key-39").waitFor();
  await page.locator("#limits").getByText("5 keys on this page").waitFor();
  await page.locator("#limits").getByRole("button", { name: "Previous" }).click();
  await table.getByText("key-10").waitFor();
});

test("a viewer sees limits and cannot change them", async () => {
  const { client, visit } = await open({ users: [{ name: "vic", password: "the pond", role: "viewer" }] });
  await client.configure("mail", { limits: { running: 4 } });
  await client.limits.set("mail", "acme", { running: 1 });
  await client.enqueueMany(jobsOf("acme", 1));
  const page = await visit("queues/mail");
  await page.getByLabel("User name").fill("vic");
  await page.getByLabel("Password").fill("the pond");
  await page.getByRole("button", { name: "Sign in" }).click();
  await busiest(page, "acme").getByText("0 of 1").waitFor();
  await page.getByRole("table", { name: "Keys with limits of their own" }).getByText("acme").waitFor();
  const buttons = page.locator("#limits").getByRole("button", { name: /Limit/ });
  expect(await buttons.count()).toBe(0);
});

test("a job shows its limit key and cost, and which limits it waits for, with the jobs that run", async () => {
  const { client, visit } = await open();
  await client.configure("mail", { limits: { running: 1, perKey: { running: 1, rate: "1/h" } } });
  const first = await client.enqueue("a", null, { queue: "mail", limitKey: "acme" });
  const { id } = await client.enqueue("a", null, { queue: "mail", limitKey: "acme", cost: 5 });
  await using _worker = workForever(client);
  await eventually(async () => (await client.get(first.id))?.status).toBe("running");
  const page = await visit(`jobs/${id}`);
  const reasons = page.locator("[data-reason=limit_running]");
  await eventually(() => reasons.count()).toBe(2);
  await reasons.first().getByText('1 job of limit key "acme" in queue mail runs').waitFor();
  await reasons.last().getByText("1 job of queue mail runs").waitFor();
  await page.locator("[data-reason=limit_rate]").getByText("in 59 m").waitFor();
  await page.getByText("Cost", { exact: true }).waitFor();
  await reasons
    .first()
    .getByRole("link", { name: first.id.slice(-8) })
    .click();
  await page.getByRole("heading", { name: "a running" }).waitFor();
  expect(await page.getByText("Cost", { exact: true }).count()).toBe(0);
  await page.goBack();
  await reasons.first().getByRole("link", { name: "See what runs" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
  expect(page.url()).toMatch(/jobs\?queue=mail&limit_key=acme&status=running$/);
  await page.goBack();
  await page.getByRole("definition").getByRole("link", { name: "acme" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(2);
});

test("a job waits for a key that a handler holds", async () => {
  const { client, visit } = await open();
  const held = (): never => {
    throw new HoldKey("2h");
  };
  const { id } = await client.enqueue("held", null, { queue: "mail", limitKey: "acme" });
  await using _worker = client.work({ held }, { queues: ["mail"] });
  const page = await visit(`jobs/${id}`);
  await page.locator("[data-reason=key_held]").getByText('Limit key "acme" in queue mail is held until').waitFor();
  await page.locator("[data-reason=key_held]").getByText("in 1 h").waitFor();
});

test("jobs and dead letters are found by limit key: by the field, by the search, and whatever the key is", async () => {
  const { client, visit } = await open();
  const strange = " a&b=c, ü ";
  await client.enqueueMany([...jobsOf("acme", 2), ...jobsOf(strange, 1), { type: "a", queue: "mail" }]);
  const page = await visit("jobs");
  const rows = page.locator("tr[data-job]");
  await eventually(() => rows.count()).toBe(4);
  await page.getByRole("combobox", { name: "Limit key" }).fill("acme");
  await eventually(() => rows.count()).toBe(2);
  expect(page.url()).toMatch(/jobs\?limit_key=acme$/);
  await page.getByRole("button", { name: "Remove the filter limit key" }).click();
  await eventually(() => rows.count()).toBe(4);
  const box = page.locator("[data-search]");
  await box.fill("key:ac");
  await eventually(() => page.locator("datalist option").allTextContents()).toEqual(["key:acme"]);
  await box.fill("queue:mail key:acme");
  await box.press("Enter");
  await eventually(() => rows.count()).toBe(2);
  expect(page.url()).toMatch(/jobs\?queue=mail&limit_key=acme$/);
  // The bulk question names it.
  await page.getByRole("button", { name: "Bulk actions" }).click();
  await page.getByRole("menuitem", { name: "Cancel all matches…" }).click();
  await page.getByRole("dialog").getByText('in mail with the limit key "acme".').waitFor();
  await page.keyboard.press("Escape");
  // So are dead letters.
  await client.enqueue("bad", null, { queue: "mail", limitKey: "acme" });
  await client.enqueue("bad", null, { queue: "mail" });
  await letDie(client, "bad", "550 no such mailbox", "mail");
  await page.goto(page.url().replace(/jobs\?.*$/, "dead"));
  await eventually(() => rows.count()).toBe(2);
  await page.getByRole("combobox", { name: "Limit key" }).fill("acme");
  await eventually(() => rows.count()).toBe(1);
  await page.locator("[data-group]").getByText("1", { exact: true }).waitFor();
  // A link keeps the key as it is.
  const { jobs } = await client.list({ limitKey: strange });
  await page.goto(page.url().replace(/dead\?.*$/, `jobs/${jobs[0]!.id}`));
  await page.getByRole("definition").getByRole("link", { name: strange.trim() }).click();
  await eventually(() => rows.count()).toBe(1);
  expect(new URL(page.url()).searchParams.get("limit_key")).toBe(strange);
  await page.reload();
  await eventually(() => rows.count()).toBe(1);
  expect(new URL(page.url()).searchParams.get("limit_key")).toBe(strange);
});

test("a job is enqueued with a limit key and a cost, and a copy of it keeps both", async () => {
  const { client, visit } = await open();
  const page = await visit("jobs");
  await page.getByText("No jobs").waitFor();
  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog", { name: "Enqueue a job" });
  await dialog.getByLabel("Type").fill("a");
  await page.keyboard.press("Escape");
  await dialog.getByText("Options", { exact: true }).click();
  await dialog.getByLabel("Limit key").fill("acme");
  await dialog.getByLabel("Cost").fill("1.5");
  await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
  await dialog.getByText("Must be a whole number.").waitFor();
  await dialog.getByLabel("Cost").fill("7");
  await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const { jobs } = await client.list();
  expect(jobs).toMatchObject([{ limitKey: "acme", cost: 7 }]);
  await page.locator("tr[data-job] a[data-open]").click();
  await page.getByRole("button", { name: "Copy as" }).click();
  await page.getByRole("menuitem", { name: "curl" }).click();
  await eventually(() => page.evaluate("navigator.clipboard.readText()")).toContain('"limit_key":"acme","cost":7');
  await page.getByRole("button", { name: "Duplicate and edit" }).click();
  await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
  await eventually(async () => (await client.list({ limitKey: "acme" })).jobs.map(({ cost }) => cost)).toEqual([7, 7]);
});

test("a schedule that is edited on the page keeps its limit key and cost", async () => {
  const { client, visit } = await open();
  await client.schedules.upsert({ name: "nightly", type: "a", every: "1d", limitKey: "acme", cost: 7 });
  const page = await visit("schedules");
  await page.getByRole("button", { name: "Change nightly" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Priority").selectOption("high");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await eventually(() => client.schedules.list()).toMatchObject([{ priority: 10, limitKey: "acme", cost: 7 }]);
});
