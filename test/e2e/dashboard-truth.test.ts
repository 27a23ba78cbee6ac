// What the page says is so: a status, a number, a payload, a name. And nothing that one can press is cut off or covered.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";

const open = stage();

/** Enqueues jobs and lets each die with this message, many at once. */
async function die(client: Client, type: string, message: string, many: number, version?: string): Promise<void> {
  const error = { name: "Boom", message, stack: null, kind: "error", version } as const;
  for (let left = many; left > 0; left -= 1000) {
    await client.enqueueMany(Array.from({ length: Math.min(left, 1000) }, () => ({ type })));
    const claim = { workerId: "w", queues: ["default"], types: "*" as const, limit: 1000, leaseMs: 60_000, turn: 1, again: false };
    const { jobs } = await client.leases.exchange([], claim);
    const outcome = { kind: "discard", error, runMs: 1 } as const;
    await client.leases.exchange(
      jobs.map(({ job, fence, facts }) => ({ id: job.id, fence, facts, outcome })),
      null,
    );
  }
}

describe("a status", () => {
  test("is a status: the tab Failed lists, counts and changes no dead job", async () => {
    const { client, visit } = await open();
    await client.configure("plain", { deadLetters: false });
    await client.enqueueMany([{ type: "a", queue: "plain" }, { type: "b" }, { type: "b" }]);
    await letDie(client, "a", "no", "plain");
    await letDie(client, "b", "no");
    const page = await visit("jobs");
    await page.getByRole("link", { name: "Failed 1" }).click();
    await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
    expect(page.url()).toContain("?status=failed_only");
    expect(await page.getByRole("link", { name: "Failed 1" }).getAttribute("aria-current")).not.toBeNull();
    await page.getByRole("button", { name: "Bulk actions" }).click();
    await page.getByRole("menuitem", { name: "Delete all matches" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 1 job?" });
    await dialog.getByText("Failed jobs.", { exact: true }).waitFor();
    await dialog.getByText("Type 1 to confirm").waitFor();
    await dialog.getByLabel(/to confirm$/).fill("1");
    await dialog.getByRole("button", { name: "Delete it" }).click();
    await page.locator("[data-toast=done]", { hasText: "1 job is deleted" }).waitFor();
    expect((await client.stats()).counts).toMatchObject({ failed: 0, dead: 2 });
  });

  test("of a link with the API's word names both that it means", async () => {
    const { client, visit } = await open();
    await client.enqueue("b");
    await letDie(client, "b", "no");
    const page = await visit("jobs?status=failed");
    await page.locator("tr[data-job]").waitFor();
    await page.getByRole("list", { name: "Active filters" }).getByText("failed, dead").waitFor();
  });
});

describe("groups of dead letters", () => {
  test("obey the text search, and button, dialog and effect say the same number", async () => {
    const { client, visit } = await open();
    await die(client, "mail", "no user 1", 3);
    await die(client, "pay", "declined", 2);
    const page = await visit("dead?q=user&from=1h");
    const groups = page.getByRole("list", { name: "Errors" }).getByRole("listitem");
    await groups.getByText("no user 1").waitFor();
    expect(await groups.count()).toBe(1);
    await groups.getByRole("button", { name: "Retry 3" }).click();
    const dialog = page.getByRole("dialog", { name: "Retry 3 jobs?" });
    await dialog
      .getByText('Dead jobs with the error "Boom: no user 1" that contain "user", created in the last hour.', { exact: true })
      .waitFor();
    const sample = dialog.getByRole("region", { name: "Sample" }).getByRole("listitem");
    await eventually(() => sample.allTextContents()).toEqual(Array(3).fill(expect.stringMatching(/^mail [0-9a-f]{8}Boom: no user 1$/)));
    await dialog.getByRole("button", { name: "Retry them" }).click();
    await page.locator("[data-toast=done]", { hasText: "3 jobs are queued for retry" }).waitFor();
    expect((await client.stats()).counts).toMatchObject({ pending: 3, dead: 2 });
  });

  test("show their trend and first version, are retried a few first and spread over a time, and are muted", async () => {
    const { client, visit } = await open();
    await die(client, "mail", "no user 1", 1, "1.4.0");
    await die(client, "mail", "no user 2", 7, "1.5.0");
    await die(client, "pay", "declined", 1);
    const page = await visit("dead");
    const groups = page.getByRole("list", { name: "Errors" }).getByRole("listitem");
    const users = groups.filter({ hasText: "no user" });
    await users.getByRole("img", { name: "8 jobs died in the last 24 hours: 8 in the last hour" }).waitFor();
    await users.getByText(/first .* with version 1\.4\.0$/).waitFor();
    await users.getByRole("button", { name: "Retry 5 first" }).click();
    const few = page.getByRole("dialog", { name: "Retry 5 jobs?" });
    await few.getByText('The newest 5 of these: Dead jobs with the error "Boom: no user 2".', { exact: true }).waitFor();
    await few.getByRole("button", { name: "Cancel" }).click();
    await users.getByRole("button", { name: "Retry 8" }).click();
    const dialog = page.getByRole("dialog", { name: "Retry 8 jobs?" });
    await dialog.getByLabel("When they run").selectOption("Spread over 10 minutes");
    await dialog.getByLabel("Reason").fill("the mailbox is back");
    await dialog.getByRole("button", { name: "Retry 5 first" }).click();
    await page.locator("[data-toast=done]", { hasText: "5 jobs are queued for retry, spread over 10 m" }).waitFor();
    expect((await client.bulk.list()).operations).toMatchObject([{ limit: 5, reason: "the mailbox is back" }]);
    expect((await client.stats()).counts).toMatchObject({ pending: 1, scheduled: 4, dead: 4 });

    await eventually(() => groups.first().innerText()).toMatch(/^3\n/);
    await users.getByRole("button", { name: "Mute this error" }).click();
    const mute = page.getByRole("dialog", { name: "Mute Boom?" });
    await mute.getByLabel("Reason").fill("fixed in 1.5.1");
    await mute.getByRole("button", { name: "Mute", exact: true }).click();
    await users.getByText(/^muted until .*: fixed in 1\.5\.1$/).waitFor();
    expect(await groups.last().innerText()).toContain("no user");
    expect(await client.attention()).toContainEqual(expect.objectContaining({ code: "dead_jobs", count: 1 }));
    await users.getByRole("button", { name: "Unmute this error" }).click();
    await users.getByRole("button", { name: "Mute this error" }).waitFor();
    expect(await client.dead.mutes()).toEqual([]);
  });

  test("beyond what is counted say at least", async () => {
    const { client, visit } = await open();
    await die(client, "mail", "no user 1", 10_001);
    const page = await visit("dead");
    const group = page.getByRole("list", { name: "Errors" }).getByRole("listitem");
    await eventually(() => group.innerText()).toMatch(/^at least\s+10,000\n/);
    await page.getByText("at least 1 error group").waitFor();
    await group.getByRole("button", { name: "Retry all" }).click();
    await page.getByRole("dialog", { name: "Retry at least 10,000 jobs?" }).waitFor();
  });
});

describe("a bulk dialog", () => {
  test("names the filter in words, a sample, and how many are running", async () => {
    const { client, visit } = await open();
    const started = Promise.withResolvers<void>();
    const options = { queue: "mail", priority: "high", tags: ["vip"] } as const;
    await client.enqueue("email:send", null, options);
    const handler = (_: unknown, { signal }: { signal: AbortSignal }): Promise<void> =>
      new Promise((resolve) => {
        started.resolve();
        signal.addEventListener("abort", () => resolve());
      });
    await using _worker = client.work({ "email:send": handler }, { queues: ["mail"], concurrency: 1, grace: 0 });
    await started.promise;
    await client.enqueueMany(Array.from({ length: 4 }, () => ({ type: "email:send", ...options })));
    const page = await visit("jobs?type=email:send&queue=mail&priority=high&tag=vip&from=15m");
    await page.getByRole("button", { name: "Bulk actions" }).click();
    await page.getByRole("menuitem", { name: "Cancel all matches" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel 5 jobs?" });
    const words =
      "Scheduled, pending, retrying, blocked and running jobs of type email:send in mail with priority high with the tag vip, created in the last 15 minutes.";
    await dialog.getByText(words, { exact: true }).waitFor();
    await dialog.getByText("1 of them is running").waitFor();
    expect(await dialog.getByRole("region", { name: "Sample" }).getByRole("listitem").count()).toBe(3);
    await dialog.getByRole("button", { name: "Cancel them" }).click();
    await page.locator("[data-toast=done]", { hasText: "5 jobs are cancelled" }).waitFor();
  });
});

describe("a new schedule", () => {
  test("does not replace another one unless it is told to", async () => {
    const { client, visit } = await open();
    await client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", type: "clean:up" });
    const page = await visit("schedules");
    await page.getByRole("button", { name: "New schedule" }).click();
    const dialog = page.getByRole("dialog", { name: "New schedule" });
    await dialog.getByLabel("Name").fill("nightly");
    await dialog.getByLabel("Job type").fill("other");
    await page.keyboard.press("Tab");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("A schedule named nightly exists. Replace it, or choose another name.").waitFor();
    expect(await client.schedules.get("nightly")).toMatchObject({ type: "clean:up" });
    await dialog.getByLabel("Name").fill("weekly");
    await dialog.getByRole("button", { name: "Create" }).waitFor();
    await dialog.getByLabel("Name").fill("nightly");
    await dialog.getByRole("button", { name: "Replace" }).click();
    await page.locator("[data-toast=done]", { hasText: "The schedule nightly is replaced" }).waitFor();
    expect(await client.schedules.get("nightly")).toMatchObject({ type: "other" });
  });
});

describe("a payload", () => {
  const EXACT = '{"id":9007199254740993,"rate":1.0}';

  const clipboard = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

  async function copyAs(page: Page, name: string): Promise<string> {
    await page.getByRole("button", { name: "Copy as" }).click();
    await page.getByRole("menuitem", { name }).click();
    await page.locator("[data-toast=done]", { hasText: `${name} copied` }).waitFor();
    return clipboard(page);
  }

  async function post(url: string, route: string, body: string): Promise<{ id: string }> {
    const api = url.replace("dashboard/", "api/v1/");
    const response = await fetch(api + route, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    return (await response.json()) as { id: string };
  }

  test("keeps its numbers as they came, wherever it is shown, copied or sent again", async () => {
    const { client, url, visit } = await open();
    const { id } = await post(url, "jobs", `{"type":"order:ship","payload":${EXACT}}`);
    await post(url, "schedules", `{"name":"nightly","every":"1h","type":"order:ship","payload":${EXACT}}`);
    const page = await visit(`jobs/${id}`);
    const payload = page.getByRole("region", { name: "Payload" });
    await eventually(() => payload.innerText()).toMatch(/id: 9007199254740993[\s\S]*rate: 1\.0/);
    await page.getByRole("button", { name: "Text" }).click();
    await eventually(() => payload.innerText()).toContain('"id": 9007199254740993');
    await page.getByText(`${EXACT.length} B`, { exact: true }).waitFor();
    expect(await copyAs(page, "curl")).toContain(`"payload":${EXACT}`);
    expect(await copyAs(page, "Command line")).toContain(`'${EXACT}'`);
    expect(await copyAs(page, "TypeScript")).toContain("JavaScript cannot hold every number of this payload");
    await page.getByRole("button", { name: "Duplicate and edit" }).click();
    const dialog = page.getByRole("dialog", { name: "Enqueue a job" });
    await eventually(() => dialog.getByLabel("Payload").inputValue()).toContain("9007199254740993");
    await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
    await page.locator("[data-toast=done]", { hasText: "Enqueued order:ship" }).waitFor();
    const [copy] = (await client.list()).jobs;
    const stored = await fetch(`${url.replace("dashboard/", "api/v1/")}jobs/${copy?.id}`);
    expect(await stored.text()).toContain("9007199254740993");
    await page.goto(`${url}schedules`);
    await page.getByRole("button", { name: "Details of nightly" }).click();
    await page.getByText("9007199254740993").waitFor();
  });

  test("that is large is copied by way of a file", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("big", { text: "x".repeat(9000), quote: "it's" });
    const page = await visit(`jobs/${id}`);
    const curl = await copyAs(page, "curl");
    expect(curl).toMatch(
      /^cat > payload\.json <<'END_OF_JSON'\n\{"type":"big","payload":\{"text":"x{9000}","quote":"it's"\}\}\nEND_OF_JSON\ncurl /,
    );
    expect(curl).toMatch(/--data-binary @payload\.json$/);
    expect(await copyAs(page, "Command line")).toMatch(/\nEND_OF_JSON\nmillrace enqueue big @payload\.json \\\n/);
  });

  test("that is pasted into a search is found as text", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("mail", { to: "a b@example.com", type: "status:dead", n: 1 });
    await client.enqueue("mail", { to: "other" });
    const page = await visit("jobs");
    const rows = (): Promise<(string | null)[]> =>
      page.locator("tr[data-job]").evaluateAll((list) => list.map((row) => row.getAttribute("data-job")));
    const box = page.locator("[data-search]");
    for (const pasted of [
      '{\n  "to": "a b@example.com",\n  "type": "status:dead",\n  "n": 1\n}',
      '"type": "status:dead",\n  "n": 1',
      JSON.stringify({ to: "a b@example.com", type: "status:dead", n: 1 }),
    ]) {
      await page.getByRole("link", { name: "All", exact: false }).first().click();
      await box.fill(pasted);
      await box.press("Enter");
      await eventually(rows).toEqual([id]);
    }
    await box.fill(JSON.stringify({ to: "a b@example.com", type: "status:dead", more: "x".repeat(300) }));
    await box.press("Enter");
    await page.getByText("No matches").waitFor();
  });
});

describe("small things", () => {
  test("a viewer's key e opens nothing", async () => {
    const { url, visit } = await open({ users: [{ name: "vic", password: "the pond", role: "viewer" }] });
    const page = await visit();
    await page.getByLabel("User name").fill("vic");
    await page.getByLabel("Password").fill("the pond");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("No jobs yet").waitFor();
    expect(await page.getByRole("button", { name: "Enqueue a sample job" }).count()).toBe(0);
    await page.keyboard.press("e");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    expect(await page.getByRole("dialog", { name: "Enqueue a job" }).count()).toBe(0);
    expect(page.url()).toBe(url);
  });

  test("progress has at most one decimal", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("slow", null, { timeout: 0 });
    const end = Promise.withResolvers<void>();
    await using _worker = client.work({ slow: (_, { progress }) => (progress(100 / 3, "a third"), end.promise) });
    const page = await visit(`jobs/${id}`);
    await page.getByText("33.3 %", { exact: true }).waitFor();
    end.resolve();
  });

  test("times are written as the reader's language writes them", async () => {
    const { client, url, visit } = await open();
    const { id } = await client.enqueue("t");
    const page = await visit();
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setLocaleOverride", { locale: "de-DE" });
    await page.goto(`${url}jobs/${id}`);
    const { createdAt } = (await client.get(id))!;
    const day = new Intl.DateTimeFormat("de-DE", { year: "numeric", month: "short", day: "numeric" }).format(createdAt);
    await page
      .getByText(new RegExp(`^${day.replaceAll(".", "\\.")}, \\d\\d:\\d\\d:\\d\\d$`))
      .first()
      .waitFor();
    await session.detach();
  });

  test("the link of an internal queue leads to its jobs", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("order:ship", null, { webhookUrl: "https://example.com/hook" });
    const shipper = client.work({ "order:ship": () => null });
    await client.wait(id);
    await shipper.stop();
    const page = await visit("jobs?internal=true&type=millrace:webhook");
    await page.locator("tr[data-job]").getByRole("link", { name: /~/ }).click();
    await page.getByRole("button", { name: "Remove the filter queue" }).waitFor();
    await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
    expect(await page.getByRole("checkbox", { name: "Internal" }).isChecked()).toBe(true);
  });

  test("the links of a worker of all queues lead to lists", async () => {
    const { client, visit } = await open();
    await client.enqueue("mail");
    await using _mine = client.work({ other: () => null }, { queues: ["*"] });
    const page = await visit("workers");
    await page.getByRole("link", { name: "all queues" }).click();
    await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
  });
});

/** Of usual screens, the narrowest last. A page is loaded in that one, and then follows its window: to load it anew for each takes longer. */
const WIDTHS = [1440, 1366, 1280, 1024] as const;

/** With the fonts of this system, and as wide as the widest fonts of systems. */
const SPACINGS = ["normal", "0.06em"] as const;

/** Looks at the page in every width and with every spacing, each time when it has drawn itself anew; ends as it began, but for the spacing. */
async function inEveryWidth<Found>(page: Page, look: (spacing: string) => Promise<Found>, expected: Found): Promise<void> {
  for (const spacing of SPACINGS) {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(`document.documentElement.style.letterSpacing = "${spacing}"`);
      await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
      await eventually(async () => ({ width, spacing, found: await look(spacing) })).toEqual({ width, spacing, found: expected });
    }
  }
}

describe(`at ${WIDTHS.join(", ")} px, and with a wide font`, () => {
  /** What is wider than its place, or has a control outside of it. */
  const cutOff = (page: Page): Promise<string[]> => page.evaluate(CUT_OFF);

  test("tables and the selection bar hold", async () => {
    const { client, url, visit } = await open();
    await client.enqueueMany(
      Array.from({ length: 400 }, (_, index) => ({ type: "email:send", queue: "transactional-mail", delay: index % 2 === 0 ? 0 : "1h" })),
    );
    await client.configure("transactional-mail", { capacity: 12_000 });
    await client.pause("transactional-mail");
    await client.schedules.upsert({ name: "nightly-report", cron: "0 3 * * 1-5", timeZone: "Europe/Berlin", type: "report:make:all" });
    await client.schedules.run("nightly-report");
    const { id } = await client.enqueue("report:make", null, { maxRetries: 1, retryDelay: 0 });
    const handler = (): never => {
      throw new RangeError(`the report of the month could not be written: ${"no space left on the device ".repeat(5)}`);
    };
    await using _worker = client.work({ "report:make": handler });
    await client.wait(id);
    const filter = { type: "email:send", queue: "transactional-mail", tag: "a-newsletter-of-november" };
    const operation = await client.bulk.start(
      { action: "cancel", filter },
      { by: "ann.of.the.mail.team", reason: "wrong list of readers" },
    );
    await client.wait(operation.id);
    const page = await visit("queues", { width: WIDTHS.at(-1), height: 800 });
    const check = async (): Promise<void> => {
      expect(await cutOff(page)).toEqual([]);
      await inEveryWidth(page, () => cutOff(page), []);
    };
    await page.getByRole("button", { name: "Settings of transactional-mail" }).waitFor();
    await check();
    await page
      .locator("[data-queue=transactional-mail]")
      .getByText(/of 12,000/)
      .waitFor();
    await page.goto(`${url}jobs/${id}`);
    await page.getByRole("table", { name: "Attempts" }).getByText("RangeError").first().waitFor();
    await check();
    for (const [address, fact] of [
      ["dead", "RangeError"],
      ["schedules", "Details of nightly-report"],
      ["workers", "idle"],
      ["operations", "completed"],
      ["audit", "Queue paused"],
      ["queues/transactional-mail", "email:send"],
    ] as const) {
      await page.goto(url + address);
      await (address === "schedules" ? page.getByRole("button", { name: fact }) : page.getByRole("table").getByText(fact))
        .first()
        .waitFor();
      await check();
    }
    await page.goto(`${url}jobs`);
    await page.getByRole("checkbox", { name: "Select all on this page" }).check();
    await page.getByText("50 jobs selected").waitFor();
    expect(await cutOff(page)).toEqual([]);
    const lookAtBar = async (spacing: string): Promise<string[]> => [
      ...(spacing === "normal" ? await cutOff(page) : []),
      ...(await page.evaluate<string[]>(BAR_CUT_OFF)),
    ];
    await inEveryWidth(page, lookAtBar, []);
  });

  test("messages cover no controls", async () => {
    const { client, url, visit } = await open();
    await client.enqueueMany(Array.from({ length: 60 }, () => ({ type: "email:send" })));
    await letDie(client, "email:send", "no such mailbox");
    const page = await visit("dead", { height: 700 });
    /** Of one message: the one before goes first. */
    const lookInEveryWidth = async (act: () => Promise<void>): Promise<void> => {
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 700 });
        await act();
        await page.locator("[data-toast=done]").waitFor();
        expect({ width, covered: await page.evaluate(coveredIn("dialog[open]", "body")) }).toEqual({ width, covered: [] });
        await page.evaluate(DISMISS);
        await page.locator("[data-toast]").waitFor({ state: "detached" });
      }
    };
    await lookInEveryWidth(() => page.getByRole("button", { name: "Retry", exact: true }).first().click());
    await page.goto(`${url}jobs`);
    await page.locator("tr[data-job]").first().waitFor();
    await openEnqueueDialog(page);
    await lookInEveryWidth(() => page.getByRole("button", { name: "Enqueue and keep open" }).click());
  });
});

describe.each([360, 800])("at %i px", (width) => {
  test("the selection bar, the end of a list and dialogs stay above messages", async () => {
    const { client, url, visit } = await open();
    await client.enqueueMany(Array.from({ length: 30 }, () => ({ type: "email:send" })));
    const page = await visit("jobs", { width, height: 700 });
    await page.locator("[data-job]").first().getByRole("checkbox").check();
    await page.keyboard.press("j");
    // Each look comes with a message of its own: the one before may be gone by now.
    const copyAndLook = async (place: string): Promise<string[]> => {
      await page.keyboard.press("y");
      await page.locator("[data-toast=done]", { hasText: "Id copied" }).first().waitFor();
      return page.evaluate(coveredIn(place));
    };
    await eventually(() => copyAndLook("[data-selection]")).toEqual([]);
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    await eventually(() => copyAndLook("[data-pager]")).toEqual([]);
    await page.goto(`${url}jobs`);
    await page.locator("[data-job]").first().waitFor();
    await openEnqueueDialog(page);
    // The dialog stays open below the message.
    await page.getByRole("button", { name: "Enqueue and keep open" }).click();
    await page.locator("[data-toast=done]").waitFor();
    await eventually(() => page.evaluate(coveredIn("dialog[open] footer"))).toEqual([]);
  });

  test("no button of a row that gets the focus is below a message or the pages", async () => {
    const { client, visit } = await open();
    await client.enqueueMany(Array.from({ length: 20 }, () => ({ type: "email:send" })));
    await letDie(client, "email:send", "no such mailbox");
    const page = await visit("dead", { width, height: 700 });
    await page.locator("[data-job]").last().waitFor();
    await page.locator("[data-job]").first().getByRole("button", { name: "Retry" }).click();
    await page.locator("[data-toast=done]").waitFor();
    expect(await page.evaluate(HIDDEN_FOCUS)).toEqual([]);
  });
});

async function openEnqueueDialog(page: Page): Promise<void> {
  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog", { name: "Enqueue a job" });
  await dialog.getByLabel("Type").fill("t");
  await dialog.getByText("Options").click();
}

// These run in the page, so they are texts.
/** No click of a pointer: below a dialog that is open it does not reach a message. */
const DISMISS = `document.querySelectorAll("[data-toast] [aria-label=Dismiss]").forEach((one) => one.click())`;
const CUT_OFF = `[...document.querySelectorAll("main [role=region]")].flatMap((box) => {
  const edge = box.getBoundingClientRect();
  const outside = [...box.querySelectorAll("button, a")].filter((one) => one.getBoundingClientRect().right > edge.right + 1);
  const name = box.getAttribute("aria-label");
  return [...(box.scrollWidth > box.clientWidth ? [name + " is too wide: " + box.scrollWidth + " in " + box.clientWidth] : []), ...outside.map((one) => name + ": " + one.innerText)];
})`;
const BAR_CUT_OFF = `(() => {
  const bar = [...document.querySelectorAll("span")].find((one) => / selected$/.test(one.innerText)).parentElement;
  const edge = bar.getBoundingClientRect();
  return [...bar.querySelectorAll("button")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.right > edge.right || box.left < edge.left || box.bottom > Math.min(edge.bottom, innerHeight) || one.scrollWidth > one.clientWidth;
  }).map((one) => one.innerText);
})()`;
/** Buttons of rows that are below something else when they have the focus. */
const HIDDEN_FOCUS = `[...document.querySelectorAll("[data-job] button")].filter((one) => {
  one.focus();
  const box = one.getBoundingClientRect();
  return ![box.top + 1, box.bottom - 1].every((y) => one.contains(document.elementFromPoint((box.left + box.right) / 2, y)));
}).map((one) => one.outerHTML.slice(0, 120))`;
/** Controls in the first of these places that is there, below a message. */
const coveredIn = (...places: string[]): string => `(() => {
  const place = ${JSON.stringify(places)}.map((one) => document.querySelector(one)).find((one) => one !== null);
  const controls = [...place.querySelectorAll("button, a, input, select, textarea, summary")].filter((one) => one.closest("[data-toast]") === null);
  const toasts = [...document.querySelectorAll("[data-toast]")].map((one) => one.getBoundingClientRect());
  if (toasts.length === 0) return ["there is no message"];
  return controls.filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width > 0 && toasts.some((over) => box.left < over.right && over.left < box.right && box.top < over.bottom && over.top < box.bottom);
  }).map((one) => one.outerHTML.slice(0, 120));
})()`;
