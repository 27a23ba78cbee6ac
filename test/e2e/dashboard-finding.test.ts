// Ways to find and follow jobs: through a list job by job, by saved views, by suggestions and free times, and by an alert.

import { expect, test } from "vitest";
import { errorGroup } from "../../src/core/error-group.ts";
import { dieAtOnce } from "../conformance/die-at-once.ts";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";

const open = stage();

test("the keys [ and ] go through the list that a job was opened from, also after a reload", async () => {
  const { client, visit } = await open();
  await client.enqueueMany(["first", "second", "third"].map((type) => ({ type, queue: "mail" })));
  await client.enqueue("elsewhere");
  const page = await visit("jobs?queue=mail");
  await page.locator("tr[data-job]", { hasText: "third" }).locator("a[data-open]").click();
  await page.getByRole("heading", { name: "third pending" }).waitFor();
  await page.getByText("1 of 3 in the list").waitFor();
  expect(await page.getByRole("button", { name: "Previous job ([)" }).isDisabled()).toBe(true);
  await page.keyboard.press("]");
  await page.getByRole("heading", { name: "second pending" }).waitFor();
  await page.reload();
  await page.getByText("2 of 3 in the list").waitFor();
  await page.getByRole("button", { name: "Next job (])" }).click();
  await page.getByRole("heading", { name: "first pending" }).waitFor();
  await page.keyboard.press("]");
  await page.keyboard.press("[");
  await page.getByRole("heading", { name: "second pending" }).waitFor();
  await page.getByRole("link", { name: "Jobs", exact: true }).last().click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(3);
  expect(page.url()).toMatch(/jobs\?queue=mail$/);
});

test("a job that is in no list has no neighbours", async () => {
  const { client, visit } = await open();
  const { id } = await client.enqueue("alone");
  const page = await visit(`jobs/${id}`);
  await page.getByRole("heading", { name: "alone pending" }).waitFor();
  expect(await page.getByRole("button", { name: "Next job (])" }).count()).toBe(0);
});

test("filters are saved under a name, found again in the menu and in the palette, and shared by a link", async () => {
  const { client, visit } = await open();
  await client.enqueueMany([{ type: "email:send", queue: "mail" }, { type: "other" }]);
  const page = await visit("jobs?type=email:send&queue=mail");
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Save this view…" }).click();
  await page.getByRole("dialog", { name: "Save this view" }).getByLabel("Name").fill("Our mail");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Our mail" }).waitFor();
  await page.getByRole("button", { name: "Our mail" }).click();
  await page.getByRole("menuitem", { name: "Copy a link to this view" }).click();
  await eventually(() => page.evaluate("navigator.clipboard.readText()")).toBe(page.url());
  await page.getByRole("link", { name: /^Dead letters/ }).click();
  await page.getByRole("heading", { name: "Dead letters" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Our mail" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
  expect(page.url()).toMatch(/jobs\?type=email:send&queue=mail$/);
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search pages and actions" }).fill("our mail");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Our mail" }).click();
  await page.getByRole("menuitem", { name: "Delete the view Our mail" }).click();
  await page.getByRole("button", { name: "Views" }).waitFor();
});

test("views that are saved in two tabs are all kept", async () => {
  const { visit } = await open();
  const first = await visit("jobs?queue=mail");
  const second = await visit("jobs?queue=reports");
  await second.getByRole("button", { name: "Views" }).waitFor();
  for (const [page, name] of [
    [first, "Mail"],
    [second, "Reports"],
  ] as const) {
    await page.bringToFront();
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "Save this view…" }).click();
    await page.getByRole("dialog", { name: "Save this view" }).getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name }).waitFor();
  }
  await second.getByRole("button", { name: "Reports" }).click();
  await second.getByRole("menuitem", { name: "Mail", exact: true }).waitFor();
});

test("the search suggests what the page knows", async () => {
  const { client, visit } = await open();
  await client.enqueueMany([{ type: "email:send", queue: "mail", tags: ["newsletter"] }]);
  const page = await visit("jobs");
  await page.locator("tr[data-job]").waitFor();
  const box = page.locator("[data-search]");
  const offered = (): Promise<string[]> =>
    page.locator("datalist option").evaluateAll((options) => options.map((option) => option.textContent ?? ""));
  for (const [typed, whole] of [
    ["queue:m", "queue:mail"],
    ["email", "type:email:send"],
    ["status:pending tag:n", "status:pending tag:newsletter"],
  ] as const) {
    await box.fill(typed);
    await eventually(offered).toEqual([whole]);
  }
});

test("from and to take spans and times as people write them", async () => {
  const { client, visit } = await open();
  await client.enqueue("t");
  const page = await visit("jobs");
  await page.getByRole("combobox", { name: "Created" }).selectOption("own");
  const from = page.getByLabel("Created at or after");
  await from.fill("2h");
  await from.press("Enter");
  await eventually(() => page.url()).toMatch(/from=2h$/);
  await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
  const to = page.getByLabel("Created before");
  await to.fill("soon");
  await to.press("Enter");
  expect(await to.getAttribute("aria-invalid")).toBe("true");
  await to.fill("2020-11-15 10:00");
  await to.press("Enter");
  await page.getByText("No matches").waitFor();
  await page.reload();
  expect(await to.inputValue()).toBe("2020-11-15 10:00");
  expect(await from.inputValue()).toBe("2h");
});

test("a time that the search sets is shown where it is chosen", async () => {
  const { client, visit } = await open();
  await client.enqueue("t");
  const page = await visit("jobs");
  const box = page.locator("[data-search]");
  await box.fill("from:3h");
  await box.press("Enter");
  await eventually(() => page.getByLabel("Created at or after").inputValue()).toBe("3h");
  await box.fill("ended:3h");
  await box.press("Enter");
  const ended = page.getByRole("combobox", { name: "Ended" });
  await eventually(() => ended.locator("option:checked").textContent()).toBe("Ended in the last 3h");
});

test("a page in the background tells of new dead jobs, when that was asked for", async () => {
  const { client, visit } = await open();
  await client.enqueueMany([{ type: "a" }, { type: "b" }, { type: "known" }]);
  const page = await visit("workers");
  // The browser of the tests shows no notifications: it notes them.
  await page.evaluate(`
    window.told = [];
    window.Notification = class extends EventTarget { static requestPermission = async () => "granted"; constructor(title) { super(); window.told.push(title); } };
  `);
  // The page looks every 10 seconds: its clock is turned forward.
  await page.clock.install();
  await page.getByRole("button", { name: "Options" }).click();
  const answer = page.waitForResponse(/api\/v1\/attention$/);
  await page.getByRole("menuitemcheckbox", { name: "Desktop notification of new dead jobs" }).click();
  await answer;
  await page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, get: () => true })`);
  await letDie(client, "a", "no");
  await page.clock.fastForward(10_000);
  await eventually(() => page.evaluate("window.told")).toEqual(["1 more dead job needs review"]);
  expect(await page.locator('link[rel="icon"]').getAttribute("href")).toMatch(/icon-alert\.svg$/);
  await page.evaluate(`delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))`);
  expect(await page.locator('link[rel="icon"]').getAttribute("href")).toMatch(/icon\.svg$/);
  // A muted error raises no alert, and the next one that is not muted does.
  await client.dead.mute(errorGroup("Discard", "known"));
  await page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, get: () => true })`);
  await letDie(client, "known", "known");
  const looked = page.waitForResponse(/api\/v1\/attention$/);
  await page.clock.fastForward(10_000);
  await looked;
  expect(await page.locator('link[rel="icon"]').getAttribute("href")).toMatch(/icon\.svg$/);
  await letDie(client, "b", "no");
  await page.clock.fastForward(10_000);
  await eventually(() => page.evaluate("window.told")).toEqual(["1 more dead job needs review", "1 more dead job needs review"]);
});

test("which customer's jobs fail? Two clicks from the overview, and each answer is a filter", async () => {
  const { client, visit } = await open();
  await client.configure("mail", { facets: ["customer"] });
  const payloads = ["globex", "globex", "acme"].map((customer) => ({ type: "send", queue: "mail", maxRetries: 0, payload: { customer } }));
  await client.enqueueMany(payloads);
  await letDie(client, "send", "no route", "mail");
  const page = await visit("");
  await page.getByRole("link", { name: /^Dead letters/ }).click();
  const values = page.getByRole("list", { name: "Failures by customer" });
  await eventually(() => values.getByRole("listitem").allInnerTexts()).toEqual(["globex\n2", "acme\n1"]);
  await values.getByRole("link", { name: "globex" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(2);
  expect(page.url()).toMatch(/where=customer:globex$|where=customer%3Aglobex$/);
  await page.getByRole("button", { name: "Remove the filter payload" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(3);
  await page.getByRole("textbox", { name: "Payload field" }).fill("customer:acme");
  await page.keyboard.press("Enter");
  await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
  await page.locator("input[data-search]").fill("payload.customer:globex status:dead");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(2);
  await page.locator("tr[data-job] a[data-open]").first().click();
  await page.getByRole("link", { name: "customer globex" }).click();
  await eventually(() => page.locator("tr[data-job]").count()).toBe(2);
});

test("a store with more values and errors than the page lists shows exact numbers, and how many it would retry", async () => {
  const { client, visit } = await open();
  await client.configure("mail", { facets: ["customer"] });
  const names = Array.from({ length: 101 }, (_, index) => "x".repeat(index + 1));
  await client.enqueueMany(
    names.flatMap((type) => Array.from({ length: 2 }, () => ({ type, queue: "mail", payload: { customer: type } }))),
  );
  await dieAtOnce(client, "mail", (type) => type);
  const page = await visit("dead");
  const errors = page.getByRole("list", { name: "Errors" });
  await eventually(() => errors.getByRole("listitem").count()).toBe(5);
  await errors.getByRole("button", { name: "Retry 2" }).first().waitFor();
  await page.getByText("at least 100 error groups").waitFor();
  await page.getByRole("button", { name: "Show the largest 100 errors" }).click();
  await eventually(() => errors.getByRole("listitem").count()).toBe(100);
  expect(await errors.innerText()).not.toContain("at least");
  const values = page.getByRole("list", { name: "Failures by customer" });
  await eventually(() => values.getByRole("listitem").count()).toBe(8);
  await page.getByText("There are more values.").waitFor();
  await page.getByRole("button", { name: "Show the largest 50 values" }).click();
  await eventually(() => values.getByRole("listitem").count()).toBe(50);
  expect(await values.innerText()).not.toContain("at least");
  await page.getByRole("button", { name: "Show fewer" }).first().click();
  await eventually(() => values.getByRole("listitem").count()).toBe(8);
});

test("failures of a queue without facets lead to its settings, and then the page counts them by customer", async () => {
  const { client, visit } = await open();
  const page = await visit("dead");
  await page.getByText("No dead letters").waitFor();
  expect(await page.getByText("failures by customer").count()).toBe(0);
  const names = Array.from({ length: 10 }, (_, index) => `customer-${index}`);
  const enqueueAll = () => client.enqueueMany(names.map((customer) => ({ type: "send", queue: "mail", payload: { customer } })));
  await enqueueAll();
  await dieAtOnce(client, "mail", () => "no route");
  await page.getByText("To see failures by customer").getByRole("link", { name: "mail" }).click();
  const dialog = page.getByRole("dialog", { name: "Settings of mail" });
  await dialog.getByRole("textbox", { name: "Facets" }).fill("customer");
  await dialog.getByRole("button", { name: "Save" }).click();
  await eventually(async () => (await client.queue("mail"))?.facets).toMatchObject([{ field: "customer" }]);
  await enqueueAll();
  await dieAtOnce(client, "mail", () => "no route");
  await page.getByRole("link", { name: /^Dead letters/ }).click();
  const values = page.getByRole("list", { name: "Failures by customer" });
  await eventually(() => values.getByRole("listitem").count()).toBe(8);
  await page.getByText("Jobs that are dead or failed now").waitFor();
  await page.getByRole("button", { name: "Show all 10 values" }).click();
  await eventually(() => values.getByRole("listitem").count()).toBe(10);
  expect(await page.getByText("To see failures by customer").count()).toBe(0);
});
