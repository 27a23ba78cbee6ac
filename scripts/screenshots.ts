// Takes the screenshots of the dashboard in docs/images, with the data of a day in a shop: `npm run screenshots` takes all of them,
// `npm run screenshots -- overview dead` only those. To make them look the same, install the font Inter (Debian: fonts-inter).

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { BulkRequest, Client } from "../src/client/client.ts";
import { connect } from "../src/connect.ts";
import { launchBrowser } from "../test/e2e/dashboard/browser.ts";
import { openDashboard } from "../test/e2e/dashboard/open-dashboard.ts";
import { LateClock, letWorkersBeat, liveADay, liveNow } from "../test/e2e/dashboard/sample-data.ts";

interface Picture {
  readonly name: string;
  readonly address: string;
  /** A text that appears when the page is loaded. */
  readonly fact: string | RegExp;
  readonly theme?: "dark" | "light";
  readonly width?: number;
  readonly height?: number;
  /** Nobody is signed in, so there are no live updates. */
  readonly isOut?: boolean;
  /** Actions before the screenshot. */
  readonly act?: (page: Page) => Promise<void>;
}

const wanted = process.argv.slice(2);
const DAY_MS = 86_400_000;
const images = fileURLToPath(new URL("../docs/images", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "millrace-screenshots-"));
const storeUrl = `sqlite:${path.join(folder, "shop.db")}`;

const clock = new LateClock(DAY_MS - 60_000);
const past = await connect(storeUrl, { clock });
await liveADay(past, clock);
await past.close();

const browser = await launchBrowser();
const dashboard = await openDashboard({ storeUrl });
const empty = await openDashboard({ storeUrl: "memory:" });
const locked = await openDashboard({ storeUrl: "memory:", users: [{ name: "ann", password: "the mill", role: "operator" }] });
try {
  await liveNow(dashboard.client);
  await runOperations(dashboard.client);
  const [running] = (await dashboard.client.list({ type: "video:transcode" })).jobs;
  const dead = (await dashboard.client.dead.list({ type: "email:send" })).jobs.find(({ error }) => error?.name === "SmtpError");
  mkdirSync(images, { recursive: true });
  const [waiting] = (await dashboard.client.list({ type: "report:export" })).jobs;
  const ids = { running: running?.id ?? "", dead: dead?.id ?? "", waiting: waiting?.id ?? "" };
  for (const picture of picturesOf(ids)) await take(picture, dashboard.url);
  await take({ name: "sign-in", address: "", fact: "Sign in to Millrace", isOut: true, height: 620 }, locked.url);
  await take({ name: "first-steps", address: "", fact: "No jobs yet" }, empty.url);
} finally {
  await browser.close();
  await dashboard.close();
  await empty.close();
  await locked.close();
  rmSync(folder, { recursive: true, force: true });
}

function picturesOf({ running, dead, waiting }: Readonly<Record<"running" | "dead" | "waiting", string>>): Picture[] {
  return [
    { name: "overview", address: "", fact: "things need attention", height: 1120 },
    { name: "overview-light", address: "", fact: "things need attention", theme: "light", height: 1120 },
    { name: "queues", address: "queues", fact: "By priority" },
    { name: "queue", address: "queues/mail", fact: "still being counted", height: 1120 },
    { name: "operations", address: "operations", fact: "on this page" },
    { name: "jobs", address: "jobs?status=completed,dead", fact: "on this page", act: selectTwo },
    { name: "job-running", address: `jobs/${running}`, fact: "rung 2160p, segment 24 of 63", height: 1120 },
    { name: "job-dead", address: `jobs/${dead}`, fact: "Ended dead", theme: "light", height: 1120 },
    { name: "job-waiting", address: `jobs/${waiting}`, fact: "No live worker handles jobs" },
    { name: "dead", address: "dead", fact: "By error", height: 1000 },
    { name: "schedules", address: "schedules", fact: "weekday-digest", act: (page) => click(page, "Details of weekday-digest") },
    { name: "schedule-new", address: "schedules", fact: "weekday-digest", act: writeSchedule },
    { name: "delayed", address: "schedules?tab=delayed", fact: "trial:ends" },
    { name: "workers", address: "workers", fact: "worker-1" },
    { name: "audit", address: "audit", fact: "on this page, the newest first" },
    { name: "enqueue", address: "", fact: "things need attention", act: writeJob },
    { name: "palette", address: "", fact: "things need attention", act: (page) => page.keyboard.press("Control+k") },
    { name: "shortcuts", address: "queues", fact: "By priority", theme: "light", act: (page) => page.keyboard.press("?") },
    { name: "phone-overview", address: "", fact: "things need attention", width: 390, height: 844 },
    { name: "phone-dead", address: "dead", fact: "By error", width: 390, height: 844 },
    { name: "phone-jobs", address: "jobs", fact: "Filters", width: 390, height: 844 },
    { name: "phone-queues", address: "queues", fact: "billing", width: 390, height: 844, theme: "light" },
    { name: "phone-job", address: `jobs/${dead}`, fact: "Duplicate and edit", width: 390, height: 844 },
  ];
}

async function take(
  { name, address, fact, theme = "dark", width = 1440, height = 900, isOut = false, act }: Picture,
  url: string,
): Promise<void> {
  if (wanted.length > 0 && !wanted.includes(name)) return;
  await letWorkersBeat(dashboard.client);
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce", timezoneId: "UTC", locale: "en-GB" });
  const page = await context.newPage();
  await page.addInitScript(`localStorage.setItem("millrace:theme", "${theme}")`);
  await page.goto(url + address);
  await page.getByText(fact).first().waitFor();
  if (!isOut) await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
  await act?.(page);
  // Charts and lists that appear later have no text to wait for. Here, and only here, we wait for time.
  await page.waitForTimeout(700);
  await page.screenshot({ path: path.join(images, `${name}.png`) });
  await context.close();
  console.log(`${name}.png`);
}

/** Bulk operations that leave most of the data as it is. */
async function runOperations(client: Client): Promise<void> {
  const requests: BulkRequest[] = [
    { action: "delete", filter: { status: "completed", queue: "media", to: Date.now() - DAY_MS / 2 } },
    { action: "delete", filter: { status: "completed", queue: "billing", tag: "import" } },
    { action: "retry", filter: { status: "dead", queue: "mail", type: "email:send", to: Date.now() - (DAY_MS * 5) / 6 } },
  ];
  for (const request of requests) await client.wait((await client.bulk.start(request)).id);
}

async function click(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name }).click();
}

async function selectTwo(page: Page): Promise<void> {
  for (const key of ["j", "j", "x", "j", "x"]) await page.keyboard.press(key);
}

async function writeSchedule(page: Page): Promise<void> {
  await click(page, "New schedule");
  await page.getByLabel("Name").fill("weekly-invoices");
  await page.getByLabel("Job type").fill("invoice:render");
  await page.keyboard.press("Escape");
  await page.getByLabel("Cron").fill("30 6 * * 1");
  await page.getByLabel("Time zone").selectOption("Europe/Lisbon");
  await page.getByLabel("Payload").fill('{ "period": "last week" }');
}

async function writeJob(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Enqueue" }).click();
  await page.getByRole("dialog").getByLabel("Type").fill("invoice:render");
  await page.keyboard.press("Tab");
  await page.getByLabel("Payload").fill('{\n  "order": 48211,\n  "format": "pdf",\n  "copies": 2\n}');
  await page.getByText("Options", { exact: true }).click();
}
