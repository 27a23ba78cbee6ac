// The dashboard as a user meets it: a real browser, a real server, a real store. Each page, and each thing that can be done there.

import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";

const open = stage();

describe("the overview", () => {
  test("helps with the first job, and shows it as soon as it is there", async () => {
    const { client, visit } = await open();
    const page = await visit();
    await page.getByText("No jobs yet").waitFor();
    await page.getByRole("button", { name: "Enqueue a sample job" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Enqueue", exact: true }).click();
    await page.locator("[data-toast=done]", { hasText: "Enqueued hello:world as" }).waitFor();
    await page.getByRole("table", { name: "The latest jobs" }).getByText("hello:world").waitFor();
    expect((await client.list()).jobs).toMatchObject([{ type: "hello:world", status: "pending" }]);
  });

  test("says first what needs attention, and leads there", async () => {
    const { client, visit } = await open();
    await client.enqueue("email:send", { to: "a@example.com" }, { queue: "mail", webhookUrl: "https://example.com/hook" });
    await letDie(client, "email:send", "550 no such mailbox", "mail");
    await letDie(client, "millrace:webhook", "410 gone", "*~webhooks");
    await client.pause("mail");
    await client.enqueue("report:make", {}, { queue: "reports" });
    const page = await visit();
    const attention = page.getByRole("region", { name: "What needs attention" });
    await attention.getByText("1 dead job needs review").waitFor();
    await attention.getByText("mail is paused").waitFor();
    await attention.getByText("No worker is running, and jobs of 1 type are pending").waitFor();
    await attention.getByText("1 dead job needs review").click();
    await page.getByRole("heading", { name: "Dead letters" }).waitFor();
    await page.locator("tr[data-job]").getByText("550 no such mailbox").waitFor();
    await page.goBack();
    await attention.getByText("1 webhook was not delivered").click();
    await page.locator("tr[data-job]").getByText("410 gone").waitFor();
  });

  test("does not call workers fine that are not there", async () => {
    const { client, visit } = await open();
    await client.enqueue("later", null, { delay: "1h" });
    const page = await visit();
    const attention = page.getByRole("region", { name: "What needs attention" });
    await attention.getByText("No worker is running, and no job needs one now.").waitFor();
    await using _worker = client.work({ later: () => null });
    await attention.getByText("1 queue and 1 worker are fine.").waitFor();
  });

  test("shows figures, and what was counted as a chart and as a table", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "a" }, { type: "a" }, { type: "b", priority: "critical" }]);
    await using _worker = client.work({ a: () => "done" });
    await eventually(async () => (await client.stats()).totalProcessed).toBe(2);
    const page = await visit();
    await page.getByRole("link", { name: /^Processed today 2/ }).waitFor();
    await page.getByRole("link", { name: /^Waiting 1/ }).waitFor();
    await page.getByRole("slider", { name: "Jobs per hour, point by point" }).press("ArrowLeft");
    await page.getByRole("button", { name: "Show as a table" }).click();
    const latest = page.getByRole("table", { name: "Jobs over time, the latest first" }).getByRole("row").nth(1);
    await eventually(() => latest.getByRole("cell").allTextContents()).toEqual([expect.stringMatching(/:00:00\b/), "3", "2", "0", "0"]);
  });

  test("stays current while a job reports progress all the time", async () => {
    const { client, visit } = await open();
    const stop = new AbortController();
    // Reports again as soon as its last report was announced.
    const noisy = async (_: unknown, { progress }: { progress: (percent: number) => void }): Promise<void> => {
      progress(0);
      for await (const event of client.events({ signal: stop.signal })) {
        if (event.event === "job:progress") progress((event.progress.percent + 1) % 100);
      }
    };
    await using _worker = client.work({ noisy });
    const { id } = await client.enqueue("noisy");
    const page = await visit("queues");
    await page.locator("[data-queue=default]").waitFor();
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await eventually(async () => (await client.get(id))?.progress?.percent ?? 0).toBeGreaterThan(0);
    // No event tells of a new setting: the page shows it only if it still looks at everything.
    await client.configure("quiet", { capacity: 5 });
    await page.locator("[data-queue=quiet]").waitFor();
    stop.abort();
  });

  test("follows what happens, without being asked to", async () => {
    const { client, visit } = await open();
    await client.enqueue("first");
    const page = await visit();
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await client.enqueue("second:job");
    await page.getByRole("table", { name: "The latest jobs" }).getByText("second:job").waitFor();
    await using _worker = client.work({ "second:job": () => null });
    await page
      .getByRole("row", { name: /second:job/ })
      .getByText("completed")
      .waitFor();
  });
});

describe("queues", () => {
  test("are paused and resumed, and a pause can be taken back", async () => {
    const { client, visit } = await open();
    await client.enqueue("t", null, { queue: "mail" });
    const isPaused = async (): Promise<boolean | undefined> => (await client.queues())[0]?.paused;
    const page = await visit("queues");
    const row = page.locator("[data-queue=mail]");
    await row.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog", { name: "Pause mail?" }).getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused").waitFor();
    expect(await isPaused()).toBe(true);
    await row.getByRole("button", { name: "Resume" }).click();
    const toast = page.locator("[data-toast]", { hasText: "mail is resumed" });
    // It stays while one points at it, however long the rest takes on a busy machine.
    await toast.hover();
    await row.getByRole("button", { name: "Pause" }).waitFor();
    expect(await isPaused()).toBe(false);
    await toast.getByRole("button", { name: "Undo" }).click();
    await row.getByText("paused").waitFor();
    expect(await isPaused()).toBe(true);
  });

  test("are sorted by what one asks for", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "t", queue: "a" }, ...Array.from({ length: 3 }, () => ({ type: "t", queue: "b" }))]);
    const page = await visit("queues");
    const names = (): Promise<(string | null)[]> =>
      page.locator("[data-queue]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-queue")));
    await eventually(names).toEqual(["a", "b"]);
    await page.getByRole("button", { name: "Pending" }).click();
    await eventually(names).toEqual(["b", "a"]);
    expect(await page.getByRole("columnheader", { name: "Pending" }).getAttribute("aria-sort")).toBe("descending");
  });

  test("of our own are shown by the switch, and lead to their jobs", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("order:ship", null, { webhookUrl: "https://example.com/hook" });
    const shipper = client.work({ "order:ship": () => null });
    await client.wait(id);
    await shipper.stop();
    const page = await visit("queues");
    const row = page.locator('[data-queue="default~webhooks"]');
    await page.locator("[data-queue=default]").waitFor();
    expect(await row.count()).toBe(0);
    await page.getByRole("checkbox", { name: "Internal" }).check();
    await row.waitFor();
    expect(await row.getByRole("button").count()).toBe(0);
    await row.getByRole("link", { name: "1", exact: true }).click();
    await page.getByRole("cell", { name: "millrace:webhook", exact: true }).waitFor();
  });

  test("are given other settings, and told what is wrong with them", async () => {
    const { client, visit } = await open();
    await client.enqueue("t", null, { queue: "mail" });
    const page = await visit("queues");
    await page.getByRole("button", { name: "Settings of mail" }).click();
    await page.getByLabel("Capacity").fill("250");
    await page.getByLabel("Default retries").fill("0");
    await page.getByLabel("Default timeout").fill("2m");
    await page.getByLabel("Default backoff").fill("fixed");
    await page.getByLabel("Keep completed jobs for").fill("soon");
    await page.getByRole("button", { name: "Save" }).click();
    await page
      .getByRole("alert")
      .getByText(/^Retention.age must be/)
      .waitFor();
    await page.getByLabel("Keep completed jobs for").fill("7d");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("[data-queue=mail]").getByText("1 of 250").waitFor();
    expect((await client.queues())[0]).toMatchObject({
      capacity: 250,
      retention: { age: 7 * 86_400_000 },
      defaults: { maxRetries: 0, maxLost: null, retryDelay: null, backoff: "fixed", timeout: 120_000 },
    });
    expect(await client.enqueue("t", null, { queue: "mail" })).toMatchObject({ maxRetries: 0, timeout: 120_000 });
  });
});

describe("jobs", () => {
  test("are filtered, and each filter is a link", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([
      { type: "email:send", queue: "mail", priority: "high", tags: ["urgent"] },
      { type: "email:send", queue: "mail", delay: "1h" },
      { type: "report:make", queue: "reports" },
    ]);
    const page = await visit("jobs");
    const rows = page.locator("tr[data-job]");
    await eventually(() => rows.count()).toBe(3);
    await page.getByRole("link", { name: "Scheduled 1" }).click();
    await eventually(() => rows.count()).toBe(1);
    expect(page.url()).toContain("?status=scheduled");
    await page.goBack();
    await eventually(() => rows.count()).toBe(3);
    await page.getByRole("combobox", { name: "Type" }).fill("email:send");
    await page.keyboard.press("Tab");
    await eventually(() => rows.count()).toBe(2);
    await page.getByRole("combobox", { name: "Priority" }).selectOption("high");
    await eventually(() => rows.count()).toBe(1);
    expect(page.url()).toContain("?type=email:send&priority=high");
    const same = await visit("jobs?type=email:send&priority=high&tag=urgent&queue=mail&from=1h");
    await eventually(() => same.locator("tr[data-job]").count()).toBe(1);
    await same.getByRole("button", { name: "Remove the filter type" }).waitFor();
    await same.getByRole("button", { name: "Clear all" }).click();
    await eventually(() => same.locator("tr[data-job]").count()).toBe(3);
  });

  test("of our own are shown by the switch", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("order:ship", null, { webhookUrl: "https://example.com/hook" });
    const shipper = client.work({ "order:ship": () => null });
    await client.wait(id);
    await shipper.stop();
    const page = await visit("jobs");
    const rows = page.locator("tr[data-job]");
    await eventually(() => rows.count()).toBe(1);
    await page.getByRole("checkbox", { name: "Internal" }).check();
    await eventually(() => rows.count()).toBe(2);
    expect(page.url()).toContain("?internal=true");
    await rows.getByText("millrace:webhook").first().waitFor();
    await page.getByRole("link", { name: "All 2" }).waitFor();
    await page.getByRole("link", { name: "Pending 1" }).waitFor();
    await page.getByRole("button", { name: "Remove the filter internal" }).click();
    await eventually(() => rows.count()).toBe(1);
  });

  test("are found by id and by what is typed", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("email:send", { to: "grace.kim@example.com" });
    await client.enqueue("report:make");
    const page = await visit();
    const search = page.getByRole("searchbox", { name: /Find a job/ });
    await search.fill(id);
    await search.press("Enter");
    await page.getByRole("heading", { name: "email:send" }).waitFor();
    await search.fill("type:report:make status:pending");
    await search.press("Enter");
    await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
    await search.fill('"grace.kim" status:pending');
    await search.press("Enter");
    await page.locator(`tr[data-job="${id}"]`).waitFor();
    expect(page.url()).toContain("?status=pending&q=grace.kim");
    await page.getByRole("combobox", { name: "Text in the job" }).fill("nobody of this name");
    await page.getByText("No matches").waitFor();
  });

  test("are changed all that match, however many pages they fill", async () => {
    const { client, visit } = await open();
    await client.enqueueMany(Array.from({ length: 130 }, (_, index) => ({ type: index < 120 ? "old:import" : "new:import" })));
    const page = await visit("jobs?type=old:import");
    await page.getByRole("button", { name: "Bulk actions" }).click();
    await page.getByRole("menuitem", { name: "Cancel all matches" }).click();
    await page.getByRole("dialog", { name: "Cancel 120 jobs?" }).getByRole("button", { name: "Cancel them" }).click();
    await page.locator("[data-toast=done]", { hasText: "120 jobs are cancelled" }).waitFor();
    expect((await client.stats()).counts).toMatchObject({ cancelled: 120, pending: 10 });
    await page.getByRole("link", { name: "Cancelled", exact: true }).click();
    await page.getByRole("button", { name: "Bulk actions" }).click();
    expect(await page.getByRole("menuitem", { name: "Cancel all matches" }).getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("menuitem", { name: "Delete all matches" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 120 jobs?" });
    await dialog.getByLabel(/to confirm$/).fill("120");
    await dialog.getByRole("button", { name: "Delete them" }).click();
    await page.getByText("No matches").waitFor();
    expect((await client.list({ type: "old:import" })).jobs).toEqual([]);
    expect((await client.list({ type: "new:import" })).jobs.length).toBe(10);
  });

  test("that are changed all at once are counted on the way, and the change can be stopped", async () => {
    const { client, visit } = await open();
    await client.enqueueMany(Array.from({ length: 5 }, () => ({ type: "t" })));
    const page = await visit("jobs?type=t");
    // It would be over before anybody could stop it: to this page it is half way through until it is stopped.
    const halfWay = {
      action: "cancel",
      filter: {},
      matched: 5,
      matched_is_capped: false,
      processed: 2,
      succeeded: 2,
      failed: 0,
      failures: [],
      error: null,
    };
    const times = { created_at: new Date().toISOString(), updated_at: new Date().toISOString(), ended_at: null as string | null };
    let status = "running";
    const answer = (id: string) => ({ json: { id, status, ...halfWay, ...times } });
    const idIn = (url: string): string => /bulk\/([^/]+)/.exec(url)?.[1] ?? "";
    await page.route(/api\/v1\/bulk\/[^/]+$/, (route) => route.fulfill(answer(idIn(route.request().url()))));
    await page.route(/api\/v1\/bulk\/[^/]+\/stop$/, (route) => {
      status = "stopped";
      times.ended_at = times.updated_at;
      return route.fulfill(answer(idIn(route.request().url())));
    });
    await page.getByRole("button", { name: "Bulk actions" }).click();
    await page.getByRole("menuitem", { name: "Cancel all matches" }).click();
    await page.getByRole("button", { name: "Cancel them" }).click();
    await page.getByText("Cancelling 2 of 5 jobs").waitFor();
    await page.getByRole("link", { name: "Queues" }).click();
    await page.getByRole("heading", { name: "Queues" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("[data-toast=done]", { hasText: "Stopped after 2 jobs" }).waitFor();
    await page.getByText("Cancelling 2 of 5 jobs").waitFor({ state: "detached" });
  });

  test("are paged by cursors, and the way back is kept", async () => {
    const { client, visit } = await open();
    await client.enqueueMany(Array.from({ length: 60 }, (_, index) => ({ type: `t:${index}` })));
    const page = await visit("jobs");
    const first = (): Promise<string | null> => page.locator("tr[data-job]").first().getByRole("cell").nth(2).textContent();
    await eventually(first).toBe("t:59");
    await page.getByRole("button", { name: "Next" }).click();
    await eventually(first).toBe("t:9");
    await eventually(() => page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
    await page.reload();
    await eventually(first).toBe("t:9");
    await page.getByRole("button", { name: "Previous" }).click();
    await eventually(first).toBe("t:59");
  });

  test("that come while one reads are announced, and nothing moves", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "old:a" }, { type: "old:b" }]);
    const page = await visit("jobs");
    const types = (): Promise<string[]> => page.locator("tr[data-job] td:nth-child(3)").allTextContents();
    await eventually(types).toEqual(["old:b", "old:a"]);
    await client.enqueueMany([{ type: "new:c" }, { type: "new:d" }]);
    await page.getByRole("button", { name: "Show 2 new jobs" }).waitFor();
    expect(await types()).toEqual(["old:b", "old:a"]);
    await using _worker = client.work({ "old:b": () => null });
    await page.locator("tr[data-job]").first().getByText("completed").waitFor();
    expect(await types()).toEqual(["old:b", "old:a"]);
    await page.getByRole("button", { name: "Show 2 new jobs" }).click();
    await eventually(types).toEqual(["new:d", "new:c", "old:b", "old:a"]);
  });

  test("have the columns that one chooses", async () => {
    const { client, visit } = await open();
    await client.enqueue("t", null, { tags: ["blue"] });
    const page = await visit("jobs");
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Tags" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Priority" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "blue" }).waitFor();
    expect(await page.getByRole("columnheader", { name: "Priority" }).count()).toBe(0);
    await page.reload();
    await page.getByRole("link", { name: "blue" }).waitFor();
  });

  test("are changed many at a time, each only by what its status allows", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "dies" }, { type: "dies" }, { type: "waits" }]);
    await letDie(client, "dies", "no");
    const page = await visit("jobs");
    await page.getByRole("checkbox", { name: "Select all on this page" }).check();
    await page.getByText("3 jobs selected").waitFor();
    await page.getByRole("button", { name: "Cancel 1" }).waitFor();
    await page.getByRole("button", { name: "Delete 2" }).waitFor();
    await page.getByRole("button", { name: "Retry 2" }).click();
    await page.locator("[data-toast=done]", { hasText: "2 jobs are queued for retry" }).waitFor();
    await eventually(async () => (await client.stats()).counts).toMatchObject({ pending: 3, dead: 0 });
    // The selection ends with the page's action, later than the store knows of it: a check before that would be lost.
    await page.locator("[data-selection]").waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: "Select all on this page" }).check();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await eventually(async () => (await client.stats()).counts).toMatchObject({ cancelled: 3 });
    await page.locator("[data-selection]").waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: "Select all on this page" }).check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog", { name: "Delete 3 jobs?" }).getByRole("button", { name: "Delete" }).click();
    await page.getByText("No jobs", { exact: true }).waitFor();
    expect((await client.list()).jobs).toEqual([]);
  });

  test("stay selected if they were selected while others are changed", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "first" }, { type: "second" }]);
    const page = await visit("jobs");
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/cancel", async (route) => {
      await held;
      await route.continue();
    });
    const row = (type: string): Locator => page.locator("tr[data-job]", { hasText: type });
    await row("first").getByRole("checkbox").check();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByText("Cancel: 0 of 1 job").waitFor();
    await row("second").getByRole("checkbox").check();
    release();
    await page.getByText("1 job selected").waitFor();
    expect(await row("first").getByRole("checkbox").isChecked()).toBe(false);
    expect(await row("second").getByRole("checkbox").isChecked()).toBe(true);
  });
});

describe("dead letters", () => {
  test("are retried and deleted, one by one", async () => {
    const { client, visit } = await open();
    const [first, second] = await client.enqueueMany([{ type: "mail" }, { type: "mail" }]);
    await letDie(client, "mail", "mailbox full");
    const page = await visit("dead");
    await eventually(() => page.locator("tr[data-job]").getByText("mailbox full").count()).toBe(2);
    const idOf = (result: typeof first): string => (result.ok ? result.job.id : "");
    await page
      .locator(`[data-job="${idOf(first)}"]`)
      .getByRole("button", { name: "Retry" })
      .click();
    await eventually(() => client.get(idOf(first))).toMatchObject({ status: "pending" });
    await page
      .locator(`[data-job="${idOf(second)}"]`)
      .getByRole("button", { name: /^Delete/ })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No dead letters").waitFor();
    expect(await client.get(idOf(second))).toBeNull();
  });

  test("are never fewer than those that the page says it lists", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "mail" }, { type: "mail" }, { type: "mail" }]);
    await letDie(client, "mail", "mailbox full");
    const [first, second] = (await client.dead.list()).jobs;
    const page = await visit("dead");
    await eventually(() => page.locator("tr[data-job]").count()).toBe(3);
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    // Somebody else does this. The rows stay where they are, because they may be read.
    await client.retry(first!.id);
    await client.remove(second!.id);
    await page.getByText("1 dead letter", { exact: true }).waitFor();
    expect(await page.locator("tr[data-job]").count()).toBe(3);
  });

  test("are told apart by their errors, and one mistake is put right at once", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "mail" }, { type: "mail" }, { type: "mail" }]);
    await letDie(client, "mail", "550 mailbox 4711 is full");
    await client.enqueueMany([{ type: "pay" }]);
    await letDie(client, "pay", "card was declined");
    const page = await visit("dead");
    const groups = page.getByRole("list", { name: "Errors" }).getByRole("listitem");
    await eventually(() => groups.count()).toBe(2);
    const full = groups.filter({ hasText: "is full" });
    await full.getByText("3", { exact: true }).waitFor();
    await full.getByRole("link", { name: /550 mailbox/ }).click();
    await eventually(() => page.locator("tr[data-job]").count()).toBe(3);
    expect(page.url()).toMatch(/dead\?group=[0-9a-f]{12}$/);
    await full.getByRole("button", { name: "Retry 3" }).click();
    await page.getByRole("dialog", { name: "Retry 3 jobs?" }).getByRole("button", { name: "Retry them" }).click();
    await page.locator("[data-toast=done]", { hasText: "3 jobs are queued for retry" }).waitFor();
    expect((await client.stats()).counts).toMatchObject({ pending: 3, dead: 1 });
    await page.getByRole("button", { name: "Remove the filter error group" }).click();
    await eventually(() => groups.count()).toBe(1);
    await groups.getByRole("button", { name: "Delete 1 dead letter with this error" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 1 job?" });
    await dialog.getByLabel(/to confirm$/).fill("1");
    await dialog.getByRole("button", { name: "Delete it" }).click();
    await page.getByText("No dead letters").waitFor();
  });

  test("are retried all at once", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "a" }, { type: "a" }, { type: "b" }]);
    await letDie(client, "a", "no");
    await letDie(client, "b", "no");
    const page = await visit("dead?type=a");
    await page.getByRole("button", { name: "Retry all matches" }).click();
    await page.getByRole("button", { name: "Retry them" }).click();
    await page.locator("[data-toast=done]", { hasText: "2 jobs are queued for retry" }).waitFor();
    expect((await client.stats()).counts).toMatchObject({ pending: 2, dead: 1 });
  });

  test("are purged only by who types how many there are", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "a" }, { type: "a" }]);
    await letDie(client, "a", "no");
    const page = await visit("dead");
    await page.getByRole("button", { name: "Delete all" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 2 jobs?" });
    expect(await dialog.getByRole("button", { name: "Delete them" }).isDisabled()).toBe(true);
    await dialog.getByLabel(/to confirm$/).fill("2");
    await dialog.getByRole("button", { name: "Delete them" }).click();
    await page.getByText("No dead letters").waitFor();
    expect((await client.stats()).deadCount).toBe(0);
  });
});

describe("workers", () => {
  test("are shown with what they run, and types that nobody handles are told", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "slow" }, { type: "orphan" }]);
    const page = await visit("workers");
    await page.getByText("No worker is running").waitFor();
    await using worker = client.work(
      { slow: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)) },
      { concurrency: 4, grace: 0 },
    );
    const row = page.locator(`[data-worker="${worker.id}"]`);
    await row.getByText("busy").waitFor();
    await row.getByText("1 of 4").waitFor();
    await page.getByRole("heading", { name: "Slots in use" }).waitFor();
    await row.getByRole("link", { name: /^[0-9a-f]{8}$/ }).waitFor();
    const orphans = page.getByRole("region", { name: "Types without a live worker" });
    await orphans.getByText("orphan").click();
    await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
  });

  test("that stopped or were lost lately are remembered, with what they ran then", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("slow");
    const stopped = client.work({ other: () => null });
    const page = await visit("workers");
    await page.locator(`[data-worker="${stopped.id}"]`).waitFor();
    const [entry] = await client.workers();
    await client.leases.register({ ...entry!, id: "w-lost", running: [id], runningCount: 1 }, 1);
    await stopped.stop();
    const former = page.getByRole("table", { name: "Workers that stopped or were lost" });
    await former.getByRole("row").filter({ hasText: stopped.id }).getByText("stopped").waitFor();
    const lost = former.getByRole("row").filter({ hasText: "w-lost" });
    await lost.getByText("lost", { exact: true }).waitFor();
    await lost.getByRole("link", { name: /^[0-9a-f]{8}$/ }).waitFor();
    await page.getByText("1 stopped, 1 lost").waitFor();
  });

  test("are live, however wrong the clock of the browser is", async () => {
    const { client, visit } = await open();
    await using worker = client.work({ mail: () => null });
    const page = await visit("workers");
    // They add up: the clock is fast, then slow.
    for (const minutes of [7, -14]) {
      await page.addInitScript(`{ const now = Date.now; Date.now = () => now() + ${minutes} * 60_000; }`);
      await page.reload();
      const row = page.locator(`[data-worker="${worker.id}"]`);
      await row.getByText("idle").waitFor();
      await row.locator("time", { hasText: /^(now|\d+ s ago|in 1 s)$/ }).waitFor();
      expect(await row.getByText("silent").count()).toBe(0);
    }
  });

  test("do not look silent because the page does not ask", async () => {
    const { client, visit } = await open();
    await using worker = client.work({ mail: () => null });
    const page = await visit("workers");
    const row = page.locator(`[data-worker="${worker.id}"]`);
    await row.getByText("idle").waitFor();
    await page.getByRole("button", { name: /^Live updates/ }).click();
    await page.getByRole("button", { name: "Live updates: Paused" }).waitFor();
    await page.evaluate("{ const now = Date.now; Date.now = () => now() + 60_000; }");
    await row.locator("time", { hasText: "1 m ago" }).waitFor();
    expect(await row.getByText("silent").count()).toBe(0);
  });

  test("of servers bring no types that one could not enqueue", async () => {
    const { client, visit } = await open();
    await using _deliveries = client.work({ "millrace:webhook": () => null }, { queues: ["*~webhooks"] });
    await using _mine = client.work({ mail: () => null, "http:request": () => null });
    await eventually(async () => (await client.workers({ internal: true })).length).toBe(2);
    const page = await visit("jobs");
    await page.getByRole("combobox", { name: "Type" }).click();
    const options = page.getByRole("option");
    await eventually(() => options.allInnerTexts()).toEqual(["http:request", "mail"]);
  });

  test("that servers bring are shown by the switch, and a worker of all queues leaves no type alone", async () => {
    const { client, visit } = await open();
    await client.pause("default");
    await client.enqueue("mail");
    await using mine = client.work({ mail: () => null }, { queues: ["*"] });
    await using own = client.work({ "http:request": () => null }, { queues: ["*"] });
    const page = await visit("workers");
    await page.locator(`[data-worker="${mine.id}"]`).waitFor();
    expect(await page.locator(`[data-worker="${own.id}"]`).count()).toBe(0);
    await page.getByRole("checkbox", { name: "Internal" }).check();
    await page.locator(`[data-worker="${own.id}"]`).waitFor();
    expect(await page.getByRole("region", { name: "Types without a live worker" }).count()).toBe(0);
  });
});
