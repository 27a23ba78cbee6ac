// How every page looks to machines that look: no fault that axe knows, in both themes, on a phone and on a desk; nothing wider than the
// screen; nothing cut off; and nothing that the page's policy forbids (which the fixture would tell as a complaint).

import axe, { type AxeResults, type RunOptions } from "axe-core";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import * as z from "zod";
import type { Client } from "../../src/client/client.ts";
import { Discard, HoldKey } from "../../src/core/control-errors.ts";
import { launchBrowser, Profile } from "./dashboard/browser.ts";
import { CUT_OFF } from "./dashboard/cut-off.ts";
import { type OpenDashboard, openDashboard } from "./dashboard/open-dashboard.ts";
import { liveNow } from "./dashboard/sample-data.ts";
import { eventually, letDie } from "./dashboard/fixture.ts";

const PHONE = { width: 360, height: 740, rows: 25 } as const;
const DESK = { width: 1280, height: 800, rows: 25 } as const;

const NO_JOB = "01a1ed07-0000-7000-8000-000000000000";

// Axe looks at every element of every page: on a machine that does other things as well, that takes its time.
vi.setConfig({ testTimeout: 480_000 });

let browser: Browser;
let profile: Profile;
let dashboard: OpenDashboard;
/** Without any job. */
let empty: OpenDashboard;
/** With limits, in use. */
let limited: OpenDashboard;
/** With a job that keeps steps of every kind, and flows. */
let durable: OpenDashboard;
let folder: string;
/** The address of each page, what stands on it once it is there, and its title. */
let pages: [name: string, address: string, fact: string, title: string][];

beforeAll(async () => {
  browser = await launchBrowser();
  profile = await Profile.open(browser);
  folder = mkdtempSync(path.join(tmpdir(), "millrace-dashboard-"));
  dashboard = await openDashboard({ storeUrl: `sqlite:${path.join(folder, "jobs.db")}` });
  empty = await openDashboard({ storeUrl: "memory:" });
  limited = await openDashboard({ storeUrl: "memory:" });
  const limitedJob = await useLimits(limited.client);
  durable = await openDashboard({ storeUrl: "memory:" });
  const durableJob = await keepSteps(durable.client);
  const flows = await runFlows(durable.client);
  const { client } = dashboard;
  await client.enqueueMany([{ type: "import:rows", payload: { file: "a.csv" } }, { type: "import:rows" }]);
  await letDie(client, "import:rows", "line 4 has 3 columns, not 5");
  await liveNow(client);
  // Names as long as people make them.
  await client.enqueue("customer-onboarding:synchronise-crm-contacts-and-subscriptions", null, { queue: "partner-integrations-eu-west-1" });
  await client.wait((await client.bulk.start({ action: "delete", filter: { type: "no:such" } })).id);
  const [dead, again] = (await client.dead.list({ type: "import:rows" })).jobs;
  await client.retry(again!.id, { by: "ann", reason: "the file is mended" });
  await letDie(client, "import:rows", "line 4 has 3 columns, not 5");
  const [waiting] = (await client.list({ type: "report:export" })).jobs;
  const [running] = (await client.list({ type: "video:transcode" })).jobs;
  pages = [
    ["overview", "", "things need attention", "Overview"],
    ["queues", "queues", "A paused queue starts no job", "Queues"],
    ["a queue", "queues/mail", "The latest point is still being counted", "mail"],
    ["a queue with limits", `${limited.url}queues/mail`, "Keys with limits of their own", "mail"],
    ["queues with limits", `${limited.url}queues`, "limited", "Queues"],
    ["a job with steps", `${durable.url}jobs/${durableJob}`, "No signal came in time", "· onboarding"],
    ["flows", `${durable.url}flows`, "waits for a retry", "Flows"],
    [
      "a flow",
      `${durable.url}flows/${flows.failing}`,
      "the row has 3 columns",
      "▶ flow monthly-report-of-the-resellers-in-the-north-of-the-country",
    ],
    ["a flow with many members", `${durable.url}flows/${flows.large}`, "in 2 rows", "▶ flow import-42"],
    ["a job of a flow", `${durable.url}jobs/${flows.waiting}`, "Place in its flow", "· report:make"],
    ["a job that waits for limits", `${limited.url}jobs/${limitedJob}`, "its limit is 3", "· email:send"],
    ["a type", "queues/default/types/import:rows", "The latest point is still being counted", "import:rows"],
    ["jobs", "jobs", "on this page", "Jobs"],
    ["a running job", `jobs/${running?.id}`, "rung 2160p, segment 24 of 63", "▶ video:transcode"],
    ["a waiting job", `jobs/${waiting?.id}`, "No live worker handles jobs", "· report:export"],
    ["a dead job", `jobs/${dead?.id}`, "Ended dead", "✗ import:rows"],
    ["a job with two lives", `jobs/${again?.id}`, "Retried by ann", "✗ import:rows"],
    ["dead letters", "dead", "line 4 has 3 columns", "Dead letters"],
    ["operations", "operations", "Completed, failed, dead and cancelled jobs of type", "Operations"],
    ["schedules", "schedules", "weekday-digest", "Schedules"],
    ["delayed jobs", "schedules?tab=delayed", "cart:remind", "Schedules"],
    ["workers", "workers", "Types without a live worker", "Workers"],
    ["audit", "audit", "on this page, the newest first", "Audit"],
    ["first steps", empty.url, "No jobs yet", "Overview"],
    ["no page", "nowhere", "There is no such page", "No such page"],
    ["no job", `jobs/${NO_JOB}`, "There is no such job", "No such job"],
  ];
});

afterAll(async () => {
  await browser.close();
  await dashboard.close();
  await empty.close();
  await limited.close();
  await durable.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Limits of every kind, keys of every length, and a job that waits for them. */
async function useLimits(client: Client): Promise<string> {
  const perKey = { running: 2, rate: "600/m", burst: 10, waiting: 10_000 };
  await client.configure("mail", { limits: { running: 3, rate: "100/s", burst: 20, perKey } });
  await client.limits.set("mail", "globex", { running: null, rate: "1/h", waiting: 5, weight: 3 });
  const keys = [
    "acme",
    "acme",
    "acme",
    "globex",
    "urn:tenant:01a1ed07-0000-7000-8000-000000000000:of-a-reseller-in-the-north-of-the-country",
  ];
  await client.enqueue("hold", null, { queue: "mail", limitKey: "initech" });
  const hold = (): never => {
    throw new HoldKey("2h");
  };
  {
    await using _worker = client.work({ hold }, { queues: ["mail"] });
    await vi.waitFor(async () => expect((await client.limits.use("mail"))?.keys[0]?.heldUntil).toEqual(expect.any(Number)));
  }
  await client.enqueueMany(keys.map((limitKey) => ({ type: "email:send", queue: "mail", limitKey, cost: 2 })));
  await client.leases.exchange([], {
    workerId: "w-1",
    queues: ["mail"],
    types: ["email:send"],
    limit: 4,
    leaseMs: 3_600_000,
    turn: 1,
    again: false,
  });
  const { jobs } = await client.list({ limitKey: "acme", status: "pending" });
  return jobs[0]!.id;
}

/** Steps of every kind and in every state, with names of every length, of a job that waits. */
async function keepSteps(client: Client): Promise<string> {
  const { id } = await client.enqueue("onboarding", { user: "ann" });
  await client.signal(id, "approval", { by: 7 });
  await using _worker = client.work({
    onboarding: async (_, ctx) => {
      await ctx.step("create account", () => ({ account: 48211, features: ["reports", "exports"] }));
      await ctx.waitFor("quick answer", { timeout: 1 });
      await ctx.call("render the contract", "pdf:render");
      await ctx.call("check the credit", "credit:check").catch(() => null);
      await Promise.all([
        ctx.waitFor("approval", { timeout: "7d", schema: z.object({ by: z.string() }) }),
        ctx.waitFor("the-signature-of-01a1ed07-0000-7000-8000-000000000000-of-a-reseller-in-the-north-of-the-country"),
        ctx.sleep("three days", "3d"),
        ctx.call("ship it", "nobody:handles-this"),
      ]);
    },
    "pdf:render": () => ({ pages: 3 }),
    "credit:check": () => {
      throw new Discard("no such account: it must have nine digits");
    },
  });
  await vi.waitFor(async () => expect((await client.steps(id)).filter(({ state }) => state === "open")).toHaveLength(4), 10_000);
  return id;
}

/** A flow that waits for a retry, with members in every state and names of every length; and one with many members. */
async function runFlows(client: Client): Promise<{ failing: string; large: string; waiting: string }> {
  const parts = Array.from({ length: 60 }, (_, index) => ({ name: `part-${index}`, type: "part", after: "split" }));
  const { id: large } = await client.flow([{ name: "split", type: "split" }, ...parts], { key: "import-42", tags: ["nightly"] });
  const { id: failing, jobs } = await client.flow(
    [
      { name: "fetch", type: "fetch" },
      { name: "north", type: "clean", after: "fetch" },
      { name: "the-part-of-01a1ed07-0000-7000-8000-000000000000-of-a-reseller", type: "clean", after: "fetch" },
      { name: "east", type: "fails", after: "fetch", maxRetries: 0 },
      { name: "west", type: "nobody:handles-this", after: "fetch" },
      { name: "report", type: "report:make", after: ["north", "east", "west"], onFailure: "wait" },
      { name: "tidy", type: "clean", after: "east", onFailure: "wait" },
      { name: "cut", type: "clean", after: "east" },
      { name: "done", type: "notify", after: "*", onFailure: "run" },
    ],
    { key: "monthly-report-of-the-resellers-in-the-north-of-the-country", meta: { source: "crm" }, webhookUrl: "https://example.com/hook" },
  );
  const fails = (): never => {
    throw new Discard("the row has 3 columns, not 5");
  };
  await using _worker = client.work({ fetch: () => {}, clean: () => {}, fails });
  const counts = { completed: 3, failed: 1, cancelled: 1, stuck: { count: 1, names: ["tidy"] } };
  await vi.waitFor(async () => expect(await client.flows.get(failing)).toMatchObject(counts), 10_000);
  return { failing, large, waiting: jobs["report"]! };
}

const EVERY_RULE: RunOptions = {
  runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] },
};
/** All that a theme decides. The rest is the same in both. */
const COLOURS_ONLY: RunOptions = { runOnly: { type: "rule", values: ["color-contrast"] } };

/** Axe is given to each page once: to read its source takes the page a third as long as axe takes. It would have to be in each frame. */
async function faultsOf(page: Page, rules = EVERY_RULE, exclude: readonly string[] = []): Promise<string[]> {
  expect(page.frames()).toHaveLength(1);
  if (await page.evaluate("!('axe' in window)")) await page.evaluate(axe.source);
  const [context, options] = [
    { exclude: exclude.map((selector) => [selector]) },
    { ...rules, resultTypes: ["violations"], selectors: false },
  ];
  const run = `axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)}).then(({ violations }) => violations)`;
  const violations = await page.evaluate<AxeResults["violations"]>(run);
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`));
}

/** How much wider the page is than its window. */
function tooWide(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

/** The page follows the system's theme: to change that costs nothing, to load the page anew costs as much as half of what axe does. */
async function show(page: Page, theme: "dark" | "light"): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await page.locator(`html[data-theme=${theme}]`).waitFor();
}

/** A page follows its window, too. */
async function resize(page: Page, size: typeof DESK | typeof PHONE): Promise<void> {
  await page.setViewportSize(size);
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
}

test("every page has its title, and is without fault on a desk and on a phone, in both themes", async () => {
  const { page, complaints, close } = await profile.openPage(dashboard.url, { ...DESK, theme: "system" });
  for (const [name, address, fact, title] of pages) {
    await page.setViewportSize(DESK);
    await page.goto(new URL(address, dashboard.url).href);
    await page.getByText(fact).first().waitFor();
    await eventually(() => page.title()).toBe(`${title} · Millrace`);
    for (const [place, size, first, second] of [
      ["desk", DESK, "dark", "light"],
      ["phone", PHONE, "light", "dark"],
    ] as const) {
      await resize(page, size);
      await show(page, first);
      const faults = await faultsOf(page);
      await show(page, second);
      faults.push(...(await faultsOf(page, COLOURS_ONLY)));
      const cutOff = await page.evaluate(CUT_OFF);
      expect({ name, place, faults, tooWide: await tooWide(page), cutOff }).toEqual({ name, place, faults: [], tooWide: 0, cutOff: [] });
    }
  }
  // The browser says of the job that is not there what the server said.
  expect(complaints.filter((text) => !text.includes("status of 404"))).toEqual([]);
  await close();
});

test("everything that opens over a page is without fault, in both themes", async () => {
  const { page, complaints, close } = await profile.openPage(dashboard.url, { ...DESK, theme: "system" });
  const look = async (name: string, rules = EVERY_RULE, exclude: readonly string[] = []): Promise<void> => {
    await show(page, "dark");
    const faults = await faultsOf(page, rules, exclude);
    await show(page, "light");
    faults.push(...(await faultsOf(page, COLOURS_ONLY)));
    expect({ name, faults, cutOff: await page.evaluate(CUT_OFF) }).toEqual({ name, faults: [], cutOff: [] });
  };
  await page.getByText("things need attention").waitFor();
  for (const [key, name] of [
    ["?", "Keyboard shortcuts"],
    ["e", "Enqueue a job"],
    ["Control+k", "Command palette"],
  ] as const) {
    await page.keyboard.press(key);
    await page.getByRole("dialog", { name }).waitFor();
    await look(name);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await page.goto(`${dashboard.url}schedules`);
  await page.getByRole("button", { name: "New schedule" }).click();
  await page.getByRole("region", { name: "Next runs" }).getByRole("listitem").first().waitFor();
  await look("a new schedule");
  await page.goto(`${limited.url}queues/mail`);
  await page.getByRole("button", { name: "Edit limits" }).click();
  await page.getByRole("dialog").getByLabel("Rate").first().fill("fast");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Must be a rate").waitFor();
  await look("limits of a queue");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Limit a key" }).click();
  await page.getByRole("button", { name: "Continue" }).waitFor();
  await look("which key");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Limits of globex" }).first().click();
  await page.getByRole("dialog", { name: "Limits of globex" }).waitFor();
  await look("limits of a key");
  const [, steps] = pages.find(([name]) => name === "a job with steps")!;
  await page.goto(steps);
  await page.getByRole("button", { name: "Result of create account" }).click();
  await look("the result of a step");
  await page.getByRole("button", { name: "Send signal approval" }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText("This is required").waitFor();
  await look("a signal");
  await page.goto(`${dashboard.url}dead`);
  await page.getByRole("button", { name: "Delete all" }).click();
  await page.getByRole("dialog").waitFor();
  await look("a question");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Options" }).click();
  await page.getByRole("menu").waitFor();
  // The guards around a menu hand the focus on; a menu stands outside of the page's landmarks, as everything that pops up.
  await look("a menu", { ...EVERY_RULE, rules: { region: { enabled: false } } }, ["[data-base-ui-focus-guard]"]);
  // The browser says of the refused signal what the server said.
  expect(complaints.filter((text) => !text.includes("status of 422"))).toEqual([]);
  await close();
});

const COLOURS_OF_LINES = `[...new Set([...document.querySelectorAll("[role=log] span")].map((line) => getComputedStyle(line).color))]`;

test("the theme is chosen, and kept", async () => {
  const [, running] = pages.find(([name]) => name === "a running job")!;
  const { page, close } = await profile.openPage(dashboard.url + running, { ...DESK, height: 400 });
  const lines = page.getByRole("log").locator("span");
  const theme = (): Promise<string | null> => page.locator("html").getAttribute("data-theme");
  expect(await theme()).toBe("dark");
  await lines.first().waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Options" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Light" }).click();
  await eventually(theme).toBe("light");
  // Also of lines that are not visible: they are seen in these colours first.
  await eventually(() => page.evaluate(`getComputedStyle(document.querySelector("[role=log]")).color`)).toBe("rgb(16, 25, 26)");
  expect(await page.evaluate(COLOURS_OF_LINES)).toEqual(["rgb(16, 25, 26)"]);
  await page.reload();
  expect(await theme()).toBe("light");
  await page.getByRole("button", { name: "Options" }).click();
  await page.getByRole("menuitemcheckbox", { name: "System" }).click();
  await page.emulateMedia({ colorScheme: "dark" });
  await eventually(theme).toBe("dark");
  await close();
});
