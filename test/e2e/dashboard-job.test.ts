// One job in the dashboard, and how jobs are made there: by hand, and by schedules.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";

const open = stage();

/** What the page put on the clipboard. */
function clipboard(page: Page): Promise<string> {
  return page.evaluate("navigator.clipboard.readText()");
}

describe("a job", () => {
  test("is shown with all that is known of it", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue(
      "report:make",
      { month: 3, rows: [1, 2, 3], title: "March" },
      {
        queue: "reports",
        priority: "high",
        tags: ["monthly"],
        meta: { trace: "abc" },
        idempotencyKey: "march",
        maxRetries: 7,
        maxLost: 2,
        timeout: "2m",
      },
    );
    await using _worker = client.work({ "report:make": () => ({ pages: 12 }) }, { queues: ["reports"] });
    await client.wait(id);
    const page = await visit(`jobs/${id}`);
    await page.getByRole("heading", { name: "report:make completed" }).waitFor();
    const payload = page.getByRole("region", { name: "Payload" });
    await eventually(() => payload.innerText()).toMatch(/month: 3[\s\S]*title: "March"/);
    await eventually(() => page.getByRole("region", { name: "Result" }).innerText()).toContain("pages: 12");
    const fields = page.locator("dl", { hasText: "Retry delay" });
    await eventually(() => fields.innerText()).toMatch(
      /high[\s\S]*0 of 7 used[\s\S]*0 \(at most 2 allowed\)[\s\S]*2m[\s\S]*march[\s\S]*monthly/,
    );
    await page.getByText('trace: "abc"').waitFor();
    await page.getByText("Attempt 1: completed").waitFor();
    await page.getByText("Ended completed").waitFor();
    await eventually(() => page.title()).toBe("✓ report:make · Millrace");
  });

  test("shows each attempt with its error and stack", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("flaky", null, { maxRetries: 1, retryDelay: 0 });
    await using _worker = client.work({
      flaky: (_, { job }) => {
        throw new RangeError(`attempt ${job.attempt} broke`);
      },
    });
    await client.wait(id);
    const page = await visit(`jobs/${id}`);
    const attempts = page.getByRole("table", { name: "Attempts" });
    await attempts.getByText("RangeError: attempt 2 broke").first().waitFor();
    await attempts.locator("pre", { hasText: "dashboard-job.test.ts" }).waitFor();
    await page.getByRole("button", { name: "Error of attempt 1" }).click();
    await attempts.locator("pre", { hasText: "attempt 1 broke" }).waitFor();
    await page.getByText("Backoff before retry").waitFor();
  });

  test("that died and was retried by hand shows both lives, and who retried it", async () => {
    const users = [{ name: "ann", password: "correct horse", role: "operator" }] as const;
    const { client, visit } = await open({ users });
    const { id } = await client.enqueue("flaky", null, { maxRetries: 0 });
    await letDie(client, "flaky", "the disk is full");
    const page = await visit(`jobs/${id}`);
    await page.getByLabel("User name").fill("ann");
    await page.getByLabel("Password").fill("correct horse");
    await page.getByRole("button", { name: "Sign in" }).click();
    const timeline = page.locator("section", { has: page.getByRole("heading", { name: "Timeline" }) });
    await timeline.getByText("Ended dead").waitFor();
    await page.getByRole("main").getByRole("button", { name: "Retry", exact: true }).click();
    await timeline.getByText("Retried by ann").waitFor();
    await using _worker = client.work({ flaky: () => null });
    await timeline.getByText("Ended completed").waitFor();
    await eventually(() => timeline.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringMatching(/^Created/),
      expect.stringMatching(/^Waited for a worker/),
      expect.stringMatching(/^Attempt 1: failed/),
      expect.stringMatching(/^Ended dead/),
      expect.stringMatching(/^Retried by ann\s.* later/),
      expect.stringMatching(/^Waited for a worker/),
      expect.stringMatching(/^Attempt 2: completed/),
      expect.stringMatching(/^Ended completed/),
    ]);
    await page.getByRole("table", { name: "Attempts of life 2" }).getByText("completed").waitFor();
    await page.getByRole("table", { name: "Attempts of life 1" }).getByText("the disk is full").first().waitFor();
  });

  test("that was lost tells how often, and how often it may be", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("t", null, { maxLost: 2, retryDelay: "5m" });
    const claim = { workerId: "w", queues: ["default"], types: "*", limit: 1, leaseMs: 30_000, turn: 1, again: false } as const;
    const { jobs } = await client.leases.exchange([], claim);
    await client.leases.exchange([{ id, fence: jobs[0]!.fence, outcome: { kind: "lost" } }], null);
    const page = await visit(`jobs/${id}`);
    await page.getByRole("heading", { name: "t retrying" }).waitFor();
    const fields = page.locator("dl", { hasText: "Retry delay" });
    await eventually(() => fields.innerText()).toMatch(/0 of 3 used[\s\S]*1 \(at most 2 allowed\)/);
  });

  test("is followed while it runs: progress, log, and its end", async () => {
    const { client, visit } = await open();
    let goOn = (): void => {};
    const { id } = await client.enqueue("slow", null, { timeout: 0 });
    await using _worker = client.work({
      slow: async (_, { log, progress }) => {
        log("the first line");
        progress(40, "nearly half");
        await new Promise<void>((resolve) => (goOn = resolve));
        log("the last line");
      },
    });
    const page = await visit(`jobs/${id}`);
    await page.getByText("the first line").waitFor();
    await page.getByText("nearly half").waitFor();
    await page.getByRole("meter", { name: "progress" }).waitFor();
    goOn();
    await page.getByText("the last line").waitFor();
    await page.getByRole("heading", { name: "slow completed" }).waitFor();
    await page.getByRole("searchbox", { name: "Filter lines" }).fill("LAST");
    await eventually(() => page.getByRole("log").innerText()).not.toContain("the first line");
  });

  test("is offered only what can be done to it now", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("t", null, { delay: "1h" });
    const page = await visit(`jobs/${id}`);
    const buttons = (): Promise<string[]> =>
      page
        .getByRole("main")
        .getByRole("button", { name: /^(Retry|Start now|Cancel|Delete)$/ })
        .allTextContents();
    await eventually(buttons).toEqual(["Start now", "Cancel"]);
    await page.getByRole("button", { name: "Start now" }).click();
    await eventually(buttons).toEqual(["Cancel"]);
    await page.getByRole("button", { name: "Cancel" }).click();
    await eventually(buttons).toEqual(["Retry", "Delete"]);
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await eventually(() => client.get(id)).toMatchObject({ status: "pending" });
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
    expect(await client.get(id)).toBeNull();
  });

  test("that waits says why, and what to do about it", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("report:make", null, { queue: "reports" });
    await client.pause("reports");
    const page = await visit(`jobs/${id}`);
    const why = page.locator("section", { hasText: "Why is it not running?" });
    await why.getByText("Queue reports is paused").waitFor();
    await why.getByText("No live worker handles jobs of type report:make from queue reports").waitFor();
    await why.getByText("No other job goes before it.").waitFor();
    await why.getByRole("button", { name: "Resume reports" }).click();
    await why.getByText("Queue reports is paused").waitFor({ state: "detached" });
    await using _worker = client.work({ "report:make": () => null }, { queues: ["reports"] });
    await page.getByRole("heading", { name: "report:make completed" }).waitFor();
    expect(await why.count()).toBe(0);
  });

  test("that was changed elsewhere meanwhile is told to be so", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("t");
    await client.cancel(id);
    const page = await visit(`jobs/${id}`);
    await page.getByRole("button", { name: "Live updates: Live" }).click();
    await page.getByRole("button", { name: "Retry", exact: true }).waitFor();
    await client.retry(id);
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await page.locator("[data-toast=failed]", { hasText: "is pending: only" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).waitFor();
  });

  test("is duplicated and edited", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("email:send", { to: "wrong@example.com" }, { queue: "mail", priority: "high", tags: ["welcome"] });
    const page = await visit(`jobs/${id}`);
    await page.getByRole("button", { name: "Duplicate and edit" }).click();
    const dialog = page.getByRole("dialog", { name: "Enqueue a job" });
    await dialog.getByLabel("Payload").fill('{ "to": "right@example.com" }');
    await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
    await page.locator("[data-toast=done]").getByRole("link").click();
    await eventually(() => page.getByRole("region", { name: "Payload" }).innerText()).toContain("right@example.com");
    const [copy] = (await client.list()).jobs;
    expect(copy).toMatchObject({ type: "email:send", queue: "mail", priority: 10, tags: ["welcome"] });
    expect(copy?.id).not.toBe(id);
  });

  test("that has ended is edited and retried in place", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("email:send", { to: "nobody" });
    await letDie(client, "email:send", "no such address");
    const page = await visit(`jobs/${id}`);
    await page.getByRole("button", { name: "Edit and retry" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit and retry" });
    const payload = dialog.getByLabel("Payload");
    await payload.fill("{");
    await dialog.getByRole("button", { name: "Save and retry" }).click();
    await dialog.getByText(/^Not JSON/).waitFor();
    await payload.fill('{"to":"ann","n":9007199254740993}');
    await dialog.getByLabel("Reason").fill("mistyped");
    await dialog.getByRole("button", { name: "Save and retry" }).click();
    await page.getByRole("heading", { name: "email:send pending" }).waitFor();
    await eventually(() => page.getByRole("region", { name: "Payload" }).innerText()).toContain("n: 9007199254740993");
    await page
      .getByText(/Edited and retried by/)
      .first()
      .waitFor();
    expect(await client.changes(id)).toMatchObject([{ action: "edited", reason: "mistyped", from: "dead" }]);
  });

  test("is copied as what one would type elsewhere", async () => {
    const { client, visit, url } = await open();
    const { id } = await client.enqueue(
      "email:send",
      { to: "o'neill@example.com" },
      { queue: "mail", maxRetries: 5, maxLost: 1, tags: ["a b"] },
    );
    const page = await visit(`jobs/${id}`);
    const copyAs = async (name: string): Promise<string> => {
      await page.getByRole("button", { name: "Copy as" }).click();
      await page.getByRole("menuitem", { name }).click();
      await page.locator("[data-toast=done]", { hasText: `${name} copied` }).waitFor();
      return clipboard(page);
    };
    const server = url.replace("/dashboard/", "");
    expect(await copyAs("curl")).toBe(
      [
        `curl ${server}/api/v1/jobs \\`,
        '  --header "X-API-Key: $API_KEY" \\',
        "  --header 'Content-Type: application/json' \\",
        `  --data '{"type":"email:send","payload":{"to":"o'\\''neill@example.com"},"queue":"mail","max_retries":5,"max_lost":1,"tags":["a b"]}'`,
      ].join("\n"),
    );
    expect(await copyAs("Command line")).toBe(
      [
        `millrace enqueue email:send '{"to":"o'\\''neill@example.com"}' \\`,
        "  --queue mail \\",
        "  --max-retries 5 \\",
        "  --max-lost 1 \\",
        "  --tag 'a b' \\",
        `  --url ${server}`,
      ].join("\n"),
    );
    expect(await copyAs("TypeScript")).toContain(
      `await client.enqueue("email:send", {\n  to: "o'neill@example.com"\n}, {\n  queue: "mail"`,
    );
  });

  test("that does not exist is told to be so", async () => {
    const { visit } = await open();
    const page = await visit("jobs/0190d2f0-7b1a-7abc-8def-0123456789ab");
    await page.getByText("There is no such job").waitFor();
    const other = await visit("jobs/no-id-at-all");
    await other.getByText("There is no such job").waitFor();
    await other.getByText(/Id must be the id of a job/).waitFor();
  });
});

describe("the enqueue dialog", () => {
  test("says what is wrong, and takes every option", async () => {
    const { client, visit } = await open();
    const other = await client.enqueue("email:send");
    const page = await visit("jobs");
    await page.getByRole("button", { name: "Enqueue" }).click();
    const dialog = page.getByRole("dialog", { name: "Enqueue a job" });
    await dialog.getByLabel("Payload").fill("{ not json");
    await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
    await dialog.getByText("Type is required.").waitFor();
    await dialog.getByText(/^Not JSON/).waitFor();
    await dialog.getByLabel("Type").fill("email:s");
    await page.getByRole("option", { name: "email:send" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("listbox").waitFor({ state: "detached" });
    await dialog.getByLabel("Type").fill("email:send");
    await page.keyboard.press("Tab");
    await dialog.getByLabel("Payload").fill('{ "to": "a@example.com" }');
    await dialog.getByText("Options").click();
    await dialog.getByLabel("Queue").fill("mail");
    await page.keyboard.press("Tab");
    await dialog.getByLabel("Priority").selectOption("critical");
    await dialog.getByLabel("Delay", { exact: true }).fill("1h");
    await dialog.getByLabel("Retries", { exact: true }).fill("9");
    await dialog.getByLabel("Max lost attempts").fill("4");
    await dialog.getByLabel("Tags").fill("one, two");
    await dialog.getByLabel("Idempotency key").fill("order-42");
    await dialog.getByLabel("Timeout").fill("never");
    await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
    await dialog.getByText(/^Timeout must be/).waitFor();
    await dialog.getByLabel("Timeout").fill("5m");
    await dialog.getByRole("button", { name: "Enqueue and keep open" }).click();
    await page.locator("[data-toast=done]", { hasText: "Enqueued email:send" }).waitFor();
    await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
    await page.locator("[data-toast=done]", { hasText: "This idempotency key is in use" }).waitFor();
    const jobs = (await client.list()).jobs.filter(({ id }) => id !== other.id);
    expect(jobs).toMatchObject([
      {
        type: "email:send",
        queue: "mail",
        priority: 20,
        status: "scheduled",
        maxRetries: 9,
        maxLost: 4,
        tags: ["one", "two"],
        timeout: 300_000,
      },
    ]);
  });

  test("shows a form where workers publish the schema of the type, and what the server refuses at its fields", async () => {
    const { client, visit } = await open();
    const properties = {
      to: { type: "string", pattern: "@", description: "The address." },
      copies: { type: "integer", default: 1 },
      kind: { enum: ["plain", "html"] },
      labels: { type: "array", items: { type: "string" } },
    };
    const mail = defineJob({ type: "mail", jsonSchema: { type: "object", properties, required: ["to"] } });
    await using _worker = client.work([mail.handle(() => null)]);
    await eventually(async () => (await client.types())[0]?.schema ?? null).toMatchObject({ type: "object" });
    const page = await visit("jobs");
    await page.getByRole("button", { name: "Enqueue" }).click();
    const dialog = page.getByRole("dialog", { name: "Enqueue a job" });
    await dialog.getByLabel("Type").fill("mail");
    await dialog.getByLabel("copies").fill("1.5");
    await dialog.getByLabel("kind").selectOption("html");
    await dialog.getByLabel("to", { exact: true }).fill("ann");
    await dialog.getByLabel("labels").fill('["a", 7]');
    const send = dialog.getByRole("button", { name: "Enqueue", exact: true });
    await send.click();
    await dialog.getByText('This must match pattern "@"').waitFor();
    await dialog.getByText("This must be integer").waitFor();
    await dialog.getByText("labels[1] must be string").waitFor();
    await dialog.getByLabel("to", { exact: true }).fill("ann@example.com");
    await dialog.getByLabel("copies").fill("2");
    await dialog.getByLabel("labels").fill('["a"');
    await send.click();
    await dialog.getByText("Not JSON").waitFor();
    const whole = dialog.getByLabel("Payload", { exact: true });
    await dialog.getByRole("button", { name: "JSON", exact: true }).click();
    expect(await whole.inputValue()).toContain('"labels": ["a"\n');
    await dialog.getByRole("button", { name: "Form", exact: true }).click();
    expect(await dialog.getByLabel("labels").inputValue()).toBe('["a"');
    await dialog.getByLabel("labels").fill('["a"]');
    await dialog.getByRole("button", { name: "JSON", exact: true }).click();
    expect(JSON.parse(await whole.inputValue())).toEqual({
      copies: 2,
      kind: "html",
      to: "ann@example.com",
      labels: ["a"],
    });
    await dialog.getByRole("button", { name: "Form", exact: true }).click();
    await send.click();
    await eventually(async () => (await client.list({ type: "mail" })).jobs).toHaveLength(1);
  });

  test("remembers the payload that was last sent for a type", async () => {
    const { client, visit } = await open();
    await client.enqueue("email:send");
    const page = await visit("jobs");
    await page.getByRole("button", { name: "Enqueue" }).click();
    const dialog = page.getByRole("dialog", { name: "Enqueue a job" });
    await dialog.getByLabel("Type").fill("email:send");
    await dialog.getByLabel("Payload").fill('{ "again": true }');
    await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
    await page.locator("[data-toast=done]").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Enqueue" }).click();
    await dialog.getByLabel("Type").fill("email:send");
    await eventually(() => dialog.getByLabel("Payload").inputValue()).toBe('{ "again": true }');
  });
});

describe("schedules", () => {
  test("are made with their next runs in sight, changed, paused, run and deleted", async () => {
    const { client, visit } = await open();
    const page = await visit("schedules");
    await page.getByText("No schedules").waitFor();
    await page.getByRole("main").getByRole("button", { name: "New schedule" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New schedule" });
    await dialog.getByLabel("Name").fill("nightly");
    await dialog.getByLabel("Job type").fill("clean:up");
    await dialog.getByLabel("Cron").fill("61 3 * * *");
    const preview = dialog.getByRole("region", { name: "Next runs" });
    await preview.getByText(/^Cron/).waitFor();
    await dialog.getByLabel("Cron").fill("15 3 * * *");
    await dialog.getByLabel("Time zone").selectOption("Asia/Tokyo");
    await eventually(() => preview.getByRole("listitem").count()).toBe(5);
    await dialog.getByLabel("Payload").fill('{ "deep": true }');
    await dialog.getByRole("button", { name: "Create" }).click();
    const row = page.locator("[data-schedule=nightly]");
    await row.getByText("At 03:15").waitFor();
    expect(await client.schedules.get("nightly")).toMatchObject({ cron: "15 3 * * *", timeZone: "Asia/Tokyo", payload: { deep: true } });

    await page.getByRole("button", { name: "Details of nightly" }).click();
    await page.getByText("deep: true").waitFor();
    await row.getByRole("button", { name: "Run now" }).click();
    await page.locator("[data-toast=done]", { hasText: "nightly created job" }).waitFor();
    await row.getByText("pending").waitFor();
    expect((await client.list()).jobs).toMatchObject([{ type: "clean:up" }]);
    await row.getByRole("button", { name: "Pause nightly" }).click();
    await page.getByRole("dialog", { name: "Pause the schedule nightly?" }).getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused").waitFor();
    await row.getByRole("button", { name: "Resume nightly" }).click();
    await row.getByRole("button", { name: "Pause nightly" }).waitFor();

    await row.getByRole("button", { name: "Change nightly" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    const edit = page.getByRole("dialog", { name: "Edit nightly" });
    await edit.getByLabel("Timing").selectOption("every");
    await edit.getByLabel("Every", { exact: true }).fill("10m");
    await edit.getByRole("button", { name: "Save" }).click();
    await row.getByText("every 10m").waitFor();
    await row.getByRole("button", { name: "Change nightly" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No schedules").waitFor();
  });

  test("of a type with a schema show its form, what the server refuses at its fields, and fields that the form does not know", async () => {
    const { client, visit } = await open();
    const properties = { month: { type: "integer" }, format: { enum: ["pdf", "html"] } };
    const report = defineJob({ type: "report:make", jsonSchema: { type: "object", properties, required: ["month"] } });
    await using _worker = client.work([report.handle(() => null)]);
    await eventually(async () => (await client.types())[0]?.schema ?? null).toMatchObject({ type: "object" });
    const page = await visit("schedules");
    await page.getByRole("main").getByRole("button", { name: "New schedule" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New schedule" });
    await dialog.getByLabel("Name").fill("monthly");
    await dialog.getByLabel("Payload").waitFor();
    await dialog.getByLabel("Job type").fill("report:make");
    await page.keyboard.press("Tab");
    await dialog.getByLabel("month", { exact: true }).fill("1.5");
    await dialog.getByLabel("format").selectOption("html");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("This must be integer").waitFor();
    await dialog.getByLabel("month", { exact: true }).fill("3");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.locator("[data-schedule=monthly]").waitFor();
    expect(await client.schedules.get("monthly")).toMatchObject({ payload: { month: 3, format: "html" } });

    await client.schedules.upsert({ name: "monthly", cron: "0 3 1 * *", type: "report:make", payload: { month: 3, to: "ann" } });
    await page.reload();
    await page.locator("[data-schedule=monthly]").getByRole("button", { name: "Change monthly" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    const edit = page.getByRole("dialog", { name: "Edit monthly" });
    await edit.getByLabel("month", { exact: true }).fill("4");
    await edit.getByRole("button", { name: "JSON", exact: true }).click();
    expect(JSON.parse(await edit.getByLabel("Payload", { exact: true }).inputValue())).toEqual({ month: 4, to: "ann" });
    await edit.getByRole("button", { name: "Save" }).click();
    await eventually(async () => (await client.schedules.get("monthly"))?.payload).toEqual({ month: 4, to: "ann" });
  });

  test("show what the reader did, also when other news wait for the pointer to leave the list", async () => {
    const { client, visit } = await open();
    const nightly = { name: "nightly", cron: "15 3 * * *", type: "clean:up", payload: {} };
    await client.schedules.upsert(nightly);
    const page = await visit("schedules");
    const row = page.locator("[data-schedule=nightly]");
    await row.hover();
    const heard = page.waitForResponse(
      async (response) => response.url().endsWith("/schedules") && (await response.text()).includes("15 4"),
    );
    await client.schedules.upsert({ ...nightly, cron: "15 4 * * *" });
    await heard;
    expect(await row.getByText("At 03:15").isVisible()).toBe(true);
    await row.getByRole("button", { name: "Pause nightly" }).click();
    await page.getByRole("dialog", { name: "Pause the schedule nightly?" }).getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused").waitFor();
    await row.getByText("At 04:15").waitFor();
  });

  test("list jobs that wait for their time, to be started or cancelled", async () => {
    const { client, visit } = await open();
    const first = await client.enqueue("cart:remind", null, { delay: "2h" });
    const second = await client.enqueue("trial:ends", null, { delay: "3d" });
    const page = await visit("schedules?tab=delayed");
    await page.locator(`[data-job="${first.id}"]`).getByText("in 1 h").waitFor();
    await page.locator(`[data-job="${first.id}"]`).getByRole("button", { name: "Start now" }).click();
    await eventually(() => client.get(first.id)).toMatchObject({ status: "pending" });
    await page
      .locator(`[data-job="${second.id}"]`)
      .getByRole("button", { name: /^Cancel/ })
      .click();
    await page.getByText("No delayed jobs").waitFor();
    expect(await client.get(second.id)).toMatchObject({ status: "cancelled" });
  });
});

describe("the keyboard", () => {
  test("does everything: find a dead job, read its error, retry it, pause its queue", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("email:send", null, { queue: "mail" });
    await letDie(client, "email:send", "550 no such mailbox", "mail");
    const page = await visit();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.locator("tr[data-job]").getByText("550 no such mailbox").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "email:send dead" }).waitFor();
    await page.keyboard.press("r");
    await eventually(() => client.get(id)).toMatchObject({ status: "pending" });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("pause mail");
    await page.getByRole("option", { name: /^Pause mail/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Pause mail?" }).waitFor();
    await page.keyboard.press("Enter");
    await eventually(async () => (await client.queues())[0]).toMatchObject({ name: "mail", paused: true });
  });

  test("moves over rows, selects and changes them", async () => {
    const { client, visit } = await open();
    await client.enqueueMany([{ type: "a" }, { type: "b" }, { type: "c" }]);
    const page = await visit("jobs");
    await page.locator("tr[data-job]").first().waitFor();
    for (const key of ["j", "x", "j", "j", "x", "k"]) await page.keyboard.press(key);
    await page.getByText("2 jobs selected").waitFor();
    await page.keyboard.press("c");
    await eventually(async () => (await client.stats()).counts).toMatchObject({ cancelled: 2, pending: 1 });
    expect((await client.list({ status: "pending" })).jobs).toMatchObject([{ type: "b" }]);
    await page.getByText("2 jobs selected").waitFor({ state: "detached" });
    await page.getByRole("row", { name: /\ba\b.*cancelled/ }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("r");
    await eventually(async () => (await client.stats()).counts).toMatchObject({ cancelled: 1, pending: 2 });
  });

  test("has a sheet of its keys, finds by slash, and rests while one types", async () => {
    const { visit } = await open();
    const page = await visit("queues");
    await page.getByText("No queues yet").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("g j e ?");
    await eventually(() => page.getByRole("searchbox", { name: /Find a job/ }).inputValue()).toBe("g j e ?");
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(page.url()).toMatch(/\/queues$/);
  });

  test("can be told to leave single keys alone", async () => {
    const { visit } = await open();
    const page = await visit("queues");
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Single-key shortcuts" }).click();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Command palette" }).waitFor();
    expect(page.url()).toMatch(/\/queues$/);
  });
});
