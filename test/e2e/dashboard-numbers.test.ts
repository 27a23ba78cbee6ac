// Every number of every page equals a count by plain code over everything that is stored, whatever that is.

import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import type { JobSummary } from "../../src/core/job.ts";
import type { WorkerEntry } from "../../src/core/worker-entry.ts";
import { byCustomer, byGroup, byLevel, byStatus, type Census, countIn, inQueue, takeCensus, WAITING } from "../numbers/census.ts";
import { type Contents, contents, FACET, facetIn, fill, type Filled, keepBeating } from "../numbers/contents.ts";
import { expectedFindings } from "../numbers/expected-findings.ts";
import { launchBrowser, Profile } from "./dashboard/browser.ts";
import { eventually } from "./dashboard/fixture.ts";
import { openDashboard } from "./dashboard/open-dashboard.ts";

const RUNS = Number(process.env["MILLRACE_TEST_RUNS"] ?? 2);
const SEED = process.env["MILLRACE_TEST_SEED"];

let browser: Browser;
let profile: Profile;
let port = 0;

beforeAll(async () => {
  browser = await launchBrowser();
  profile = await Profile.open(browser);
});
afterAll(() => browser.close());

interface Facts extends Filled {
  readonly census: Census;
  readonly given: Contents;
}

/** Goes to a page of the dashboard, such as `jobs?status=dead`. */
type Go = (address: string) => Promise<void>;

test("every number of every page is true", { timeout: 600_000 }, () =>
  fc.assert(fc.asyncProperty(contents, checkPages), {
    numRuns: RUNS,
    // To shrink a failure takes minutes: a run takes seconds.
    endOnFailure: true,
    ...(SEED === undefined ? {} : { seed: Number(SEED) }),
  }),
);

async function checkPages(given: Contents): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "millrace-numbers-"));
  const storeUrl = `sqlite:${path.join(folder, "jobs.db")}`;
  const filled = await fill(storeUrl, given);
  const beating = await keepBeating(storeUrl, filled);
  const dashboard = await openDashboard({ storeUrl, port });
  port = Number(new URL(dashboard.url).port);
  const facts: Facts = { ...filled, given, census: await takeCensus(dashboard.client) };
  // So wide that every column has room: on a narrower page some move below the title.
  const { page, complaints, close } = await profile.openPage(dashboard.url, { width: 1920 });
  try {
    const go: Go = async (address) => void (await page.goto(dashboard.url + address));
    await checkOverview(page, facts);
    await go("queues");
    await checkQueues(page, facts);
    await go("queues/mail");
    await checkQueue(page, facts);
    await go("queues/mail/types/mail:send");
    await checkType(page, facts);
    await checkJobs(page, go, facts);
    await checkDead(page, go, facts);
    await go("workers");
    await checkWorkers(page, facts);
    await go("schedules?tab=delayed");
    await checkSchedules(page, facts);
    await go("operations");
    await checkOperations(page, given, dashboard.client);
    await go("audit");
    await checkAudit(page, given);
    expect(complaints).toEqual([]);
  } finally {
    await close();
    await beating[Symbol.asyncDispose]();
    await dashboard.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function linesOf(found: Locator): Promise<string[][]> {
  return found.evaluateAll((elements) =>
    elements.map((element) => (element as unknown as { innerText: string }).innerText.split("\n").filter((line) => line.trim() !== "")),
  );
}

/** The cells of a table by the titles of their columns. */
async function rowsOf(page: Page, caption: string): Promise<Record<string, string>[]> {
  const table = page.getByRole("table", { name: caption, exact: true });
  const titles = await table.locator("thead th").allInnerTexts();
  const rows = await table
    .locator("tbody tr")
    .evaluateAll((all) =>
      all.map((row) => [...row.children].map((cell) => (cell as unknown as { innerText: string }).innerText.replace(/\s*\n\s*/g, " "))),
    );
  return rows.map((cells) => Object.fromEntries(cells.map((cell, index) => [titles[index]!, cell])));
}

const sum = (workers: readonly WorkerEntry[], figure: "slots" | "runningCount" | "perMinute"): number =>
  workers.reduce((total, worker) => total + worker[figure], 0);

const counted = (number: number, thing: string): string => `${number.toLocaleString("en-US")} ${thing}${number === 1 ? "" : "s"}`;

async function checkOverview(page: Page, facts: Facts): Promise<void> {
  const { census, given, totals, workers } = facts;
  const { users } = census;
  const badges = (): Promise<(string | null)[]> =>
    page.locator('nav[aria-label="Pages"] a span[title]').evaluateAll((all) => all.map((badge) => badge.getAttribute("title")));
  const shownBadges = [
    [countIn(users, ...WAITING), "waiting"],
    [countIn(users, "running"), "running"],
    [countIn(users, "dead"), "dead"],
    [workers.length, "active"],
  ] as const;
  await eventually(badges).toEqual(shownBadges.filter(([count]) => count > 0).map((badge) => badge.join(" ")));

  const cards = async (): Promise<unknown> => {
    const all = (await linesOf(page.locator("main li > a"))).map(([name = "", value = "", note = ""]) => [name, [value, note]]);
    return Object.fromEntries(all);
  };
  const inTotal = (part: number, whole: number): string =>
    whole === 0 ? "–" : `${((part / whole) * 100).toFixed(1).replace("100.0", "100")} %`;
  const rate = inTotal(totals.completed, totals.completed + totals.failed);
  await eventually(cards).toMatchObject({
    "Processed today": [String(totals.completed), expect.stringMatching(new RegExp(`^${totals.completed} in total, [\\d.]+/s$`)) as string],
    "Failed today": [String(totals.failed), `for good; ${totals.failed} overall`],
    "Success rate": [rate, `${rate} overall`],
    "Active workers": [String(workers.length), `${sum(workers, "runningCount")} of ${counted(sum(workers, "slots"), "slot")} busy`],
    Waiting: [String(countIn(users, ...WAITING)), `${countIn(users, "pending")} pending`],
  });

  const bars = page.locator("section", { has: page.getByRole("heading", { name: "Waiting by queue" }) }).locator("li > a");
  const shownBars = async (): Promise<unknown> => {
    const titles = await bars.evaluateAll((all) => all.map((bar) => bar.getAttribute("title")));
    return Object.fromEntries((await linesOf(bars)).map(([name = "", total], index) => [name, [total, titles[index]]]));
  };
  await eventually(shownBars).toEqual(
    Object.fromEntries(
      Object.keys(given.settings).map((name) => {
        const jobs = inQueue(users, name);
        const words = Object.entries(byLevel(jobs)).flatMap(([level, count]) => (count === 0 ? [] : [`${count} ${level}`]));
        return [name, [String(countIn(jobs, ...WAITING)), words.join(", ")]];
      }),
    ),
  );

  const attention = page.getByRole("region", { name: "What needs attention" });
  const findings = expectedFindings(census, given, facts).length;
  const head = findings === 0 ? "Nothing needs attention." : `${findings} ${findings === 1 ? "thing needs" : "things need"} attention`;
  await attention.getByText(head, { exact: true }).waitFor();
  const dead = countIn(users, "dead");
  if (dead > 0)
    await attention.getByText(`${counted(dead, "dead job").replace(/job$/, "job needs").replace(/jobs$/, "jobs need")} review`).waitFor();
}

async function checkQueues(page: Page, { census: { all, users }, given }: Facts): Promise<void> {
  const levels = byLevel(users);
  const cards = async (): Promise<unknown> =>
    Object.fromEntries((await linesOf(page.locator("main li > a"))).map((lines) => [lines[0], lines.find((line) => /^\d+$/.test(line))]));
  await eventually(cards).toEqual(Object.fromEntries(Object.entries(levels).map(([level, count]) => [level, String(count)])));
  const rowOf = (name: string, { paused, capacity }: Pick<Contents["settings"]["mail"], "paused" | "capacity">): Record<string, string> => {
    const jobs = inQueue(all, name);
    const { pending, running, scheduled, retrying, blocked, dead, completed } = byStatus(jobs);
    return {
      Queue: paused ? `${name} paused` : name,
      Pending: `${pending}`,
      Running: `${running}`,
      Scheduled: `${scheduled}`,
      Retrying: `${retrying}`,
      Blocked: `${blocked}`,
      Dead: `${dead}`,
      Completed: `${completed}`,
      Oldest: pending === 0 ? "–" : (expect.stringMatching(/^\d+ [sm]$/) as string),
      Capacity: capacity === null ? "unlimited" : `${countIn(jobs, ...WAITING)} of ${capacity}`,
    };
  };
  const usersRows = Object.entries(given.settings).map(([name, settings]) => rowOf(name, settings));
  await eventually(() => rowsOf(page, "Queues")).toMatchObject(usersRows);
  await page.getByRole("checkbox", { name: "Internal" }).check();
  const own = new Set(all.map(({ queue }) => queue).filter((queue) => queue.includes("~")));
  const rows = [...usersRows, ...Array.from(own, (name) => rowOf(name, { paused: false, capacity: null }))];
  const byName = rows.toSorted((a, b) => (a["Queue"]! < b["Queue"]! ? -1 : 1));
  await eventually(() => rowsOf(page, "Queues")).toMatchObject(byName);
}

/** What became of jobs of mail, of one type or of all, since the store was made. */
function countedIn(given: Contents, type?: string): { readonly enqueued: number; readonly completed: number; readonly failed: number } {
  const jobs = given.jobs.filter((job) => job.queue === "mail" && (type === undefined || job.type === type));
  const count = (...fates: string[]): number => jobs.filter(({ fate }) => fates.includes(fate)).length;
  return { enqueued: jobs.length, completed: count("completed", "removed"), failed: count("dead", "revived") };
}

/** The errors and the workers below the figures of a queue or of a type. */
async function checkErrorsAndWorkers(page: Page, dead: readonly JobSummary[], workers: readonly WorkerEntry[]): Promise<void> {
  const groups = page.locator("li[data-group] > span:first-child");
  await eventually(async () => (await groups.allInnerTexts()).map(Number)).toEqual(byGroup(dead));
  const ids = (): Promise<(string | null)[]> =>
    page.locator("[data-worker]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-worker")));
  await eventually(ids).toEqual(workers.map(({ id }) => id).sort());
}

/** What all hours of the chart add up to. */
async function checkChart(page: Page, { enqueued, completed, failed }: ReturnType<typeof countedIn>): Promise<void> {
  await page.getByRole("button", { name: "Show as a table" }).first().click();
  const sums = async (): Promise<number[]> => {
    const rows = await rowsOf(page, "Jobs over time, the latest first");
    return ["Enqueued", "Completed", "Failed for good"].map((title) => rows.reduce((total, row) => total + Number(row[title]), 0));
  };
  await eventually(sums).toEqual([enqueued, completed, failed]);
}

const servesMail = ({ queues }: WorkerEntry): boolean => queues.includes("*") || queues.includes("mail");

async function checkQueue(page: Page, { census: { users }, given, workers }: Facts): Promise<void> {
  const jobs = inQueue(users, "mail");
  const cards = page.getByRole("list", { name: "Jobs by status" }).locator("a");
  const figures = async (): Promise<unknown> => Object.fromEntries((await linesOf(cards)).map(([name = "", figure]) => [name, figure]));
  await eventually(figures).toEqual(Object.fromEntries(Object.entries(byStatus(jobs)).map(([status, count]) => [status, String(count)])));
  await checkChart(page, countedIn(given));
  const types = [...new Set(given.jobs.filter(({ queue }) => queue === "mail").map(({ type }) => type))].sort();
  const rows = async (): Promise<unknown[]> => (await rowsOf(page, "Types")).sort((a, b) => (a["Type"]! < b["Type"]! ? -1 : 1));
  await eventually(rows).toMatchObject(
    types.map((type) => {
      const { enqueued, completed, failed } = countedIn(given, type);
      const ended = failed + completed;
      const rate = ended === 0 ? "–" : `${((failed / ended) * 100).toFixed(1).replace("100.0", "100")} %`;
      return { Type: type, Enqueued: String(enqueued), Completed: String(completed), "Failure rate": rate };
    }),
  );
  const pending = new Set(jobs.filter(({ status }) => status === "pending").map(({ type }) => type));
  expect((await rowsOf(page, "Types with pending jobs")).map((row) => row["Type"]!).sort()).toEqual([...pending].sort());
  const dead = jobs.filter(({ status }) => status === "dead");
  await checkErrorsAndWorkers(page, dead, workers.filter(servesMail));
}

async function checkType(page: Page, { census: { users }, given, workers }: Facts): Promise<void> {
  const type = "mail:send";
  const handlers = workers.filter((worker) => servesMail(worker) && (worker.types === "*" || worker.types.includes(type)));
  const figures = countedIn(given, type);
  if (figures.enqueued === 0 && handlers.every(({ types }) => types === "*")) {
    await page.getByText("There is no such type in mail").waitFor();
    return;
  }
  await checkChart(page, figures);
  const dead = inQueue(users, "mail").filter((job) => job.type === type && job.status === "dead");
  await checkErrorsAndWorkers(page, dead, handlers);
}

async function checkOperations(page: Page, given: Contents, client: Client): Promise<void> {
  const line = given.operations.length === 0 ? "No operations" : `${counted(given.operations.length, "operation")} on this page`;
  await page.getByText(line).waitFor();
  const { operations } = await client.bulk.list();
  const rows = operations.map(({ succeeded, failed }) => ({ Changed: String(succeeded), "Not changed": String(failed) }));
  expect(rows).toHaveLength(given.operations.length);
  expect(await rowsOf(page, "Bulk operations")).toMatchObject(rows);
}

/** One entry for each change by hand in `fill`. */
async function checkAudit(page: Page, { jobs, settings, operations, schedules }: Contents): Promise<void> {
  const count = (...fates: string[]): number => jobs.filter(({ fate }) => fates.includes(fate)).length;
  const isNew = (queue: string): boolean => queue !== "quiet" && jobs.every((job) => job.queue !== queue);
  const all = Object.values(settings);
  const entries = {
    "": 0,
    "Job retried": count("revived"),
    "Job cancelled": count("cancelled", "stopped"),
    "Job deleted": count("removed"),
    "Bulk operation started": operations.length,
    // That quiet keeps no dead letters, each facet, each capacity that was not so before, and each queue that did not exist.
    "Queue settings changed":
      1 +
      all.filter(({ hasFacet }) => hasFacet).length +
      Object.entries(settings).filter(([queue, { capacity, hasFacet }]) => capacity !== null || (isNew(queue) && !hasFacet)).length,
    "Queue paused": all.filter(({ paused }) => paused).length,
    "Schedule saved": schedules,
    "Schedule paused": schedules,
  };
  entries[""] = Object.values(entries).reduce((total, each) => total + each);
  for (const [kind, number] of Object.entries(entries)) {
    await page.getByLabel("Kind of change").selectOption(kind === "" ? "All changes" : kind);
    await page.getByText(`${counted(Math.min(50, number), "change")} on this page`).waitFor();
    await eventually(async () => (await rowsOf(page, "Changes")).length).toBe(Math.min(50, number));
  }
}

async function checkJobs(page: Page, go: Go, { census: { all, users } }: Facts): Promise<void> {
  const tabs = page.getByRole("navigation", { name: "By status" });
  const figures = async (): Promise<unknown> =>
    Object.fromEntries((await linesOf(tabs.locator("a"))).map(([name = "", figure]) => [name, figure]));
  const capital = (status: string): string => status.charAt(0).toUpperCase() + status.slice(1);
  for (const [address, jobs] of [
    ["jobs", users],
    ["jobs?queue=mail", inQueue(users, "mail")],
    ["jobs?internal=true", all],
  ] as const) {
    await go(address);
    const counts = Object.entries(byStatus(jobs)).map(([status, count]) => [capital(status), String(count)] as const);
    await eventually(figures).toEqual(Object.fromEntries([["All", String(jobs.length)], ...counts]));
    await listed(page, jobs.length);
    for (const [name, count] of counts) {
      await tabs.getByRole("link", { name }).click();
      await listed(page, Number(count));
    }
  }
}

/** As many rows as fit the page, and the line below says so. */
async function listed(page: Page, total: number): Promise<void> {
  const count = Math.min(50, total);
  await eventually(() => page.locator("tr[data-job]").count()).toBe(count);
  await page.getByText(`${counted(count, "job")} on this page`).waitFor();
}

async function checkDead(page: Page, go: Go, { census: { all, users }, given, customers }: Facts): Promise<void> {
  for (const [address, jobs] of [
    ["dead", users],
    ["dead?internal=true", all],
  ] as const) {
    await go(address);
    const dead = jobs.filter(({ status }) => status === "dead");
    await eventually(() => page.locator("tr[data-job]").count()).toBe(dead.length);
    const line = jobs === all ? `${counted(dead.length, "dead letter")} on this page` : counted(dead.length, "dead letter");
    await page.getByText(line, { exact: true }).waitFor();
    const groups = page.locator("li[data-group] > span:first-child");
    await eventually(async () => (await groups.allInnerTexts()).map(Number)).toEqual(byGroup(dead));
    const buttons = page.locator("li[data-group]").getByRole("button", { name: /^Retry [\d,]+$/ });
    expect(await buttons.allInnerTexts()).toEqual(byGroup(dead).map((count) => `Retry ${count}`));
    await checkFacets(page, byCustomer(dead, facetIn(given, customers)), given);
  }
}

/** The card of failures by customer, if a queue declares that; if none does, nothing is counted. */
async function checkFacets(page: Page, { values, without }: ReturnType<typeof byCustomer>, { settings }: Contents): Promise<void> {
  const card = page.locator("section", { has: page.getByRole("heading", { name: `Failures by ${FACET}` }) });
  if (!Object.values(settings).some(({ hasFacet }) => hasFacet)) return expect(await card.count()).toBe(0);
  await eventually(() => linesOf(card.getByRole("listitem"))).toEqual(values.map(({ value, count }) => [value, String(count)]));
  const note = await card.locator("p").innerText();
  if (without > 0) expect(note).toContain(`${without} without ${FACET}.`);
  else expect(note).not.toContain("without");
}

async function checkWorkers(page: Page, { workers, internalWorkers }: Facts): Promise<void> {
  const summaryOf = (listed: readonly WorkerEntry[]): string =>
    `${counted(listed.length, "worker")}, ${sum(listed, "runningCount")} of ${counted(sum(listed, "slots"), "slot")} busy, ${counted(sum(listed, "perMinute"), "attempt")} in the last minute.`;
  const ids = async (): Promise<(string | null)[]> =>
    page.locator("[data-worker]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-worker")));
  await page.getByText(summaryOf(workers), { exact: true }).waitFor();
  await eventually(ids).toEqual(workers.map(({ id }) => id).sort());
  await page.getByRole("checkbox", { name: "Internal" }).check();
  await page.getByText(summaryOf([...workers, ...internalWorkers]), { exact: true }).waitFor();
  await eventually(ids).toEqual([...workers, ...internalWorkers].map(({ id }) => id).sort());
}

async function checkSchedules(page: Page, { census: { users }, given }: Facts): Promise<void> {
  const scheduled = countIn(users, "scheduled");
  const kinds = page.getByRole("navigation", { name: "Kinds" }).locator("a");
  await eventually(() => linesOf(kinds)).toEqual([
    ["Recurring", String(given.schedules)],
    ["Delayed jobs", String(scheduled)],
  ]);
  await eventually(() => page.locator("tr[data-job]").count()).toBe(scheduled);
}
