// Flows in the dashboard: the list, the graph while it runs, failures and what one does about them, and flows with very many members.

import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import type { Client, FlowMemberInput } from "../../src/client/client.ts";
import { Discard } from "../../src/core/control-errors.ts";
import { eventually, stage } from "./dashboard/fixture.ts";

const open = stage();

const viewer = { name: "vic", password: "the pond", role: "viewer" } as const;

function card(page: Page, title: string): Locator {
  return page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) });
}

/** The box of a member in the graph. */
function box(page: Page, name: string): Locator {
  return page.locator(`[data-box="${name}"]`);
}

/** The members and their statuses, from left to right. */
function boxes(page: Page): Promise<string[]> {
  return page
    .locator("[data-box]")
    .evaluateAll((all) => all.map((each) => `${each.getAttribute("data-box")} ${each.getAttribute("data-status")}`));
}

/** The member that has the focus. */
function focused(page: Page): Promise<string | null> {
  return page.evaluate<string | null>("document.activeElement?.dataset.box ?? null");
}

/** How much wider the page is than its window. */
function tooWide(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

/** How much of the graph must be scrolled to. */
function hidden(page: Page): Promise<number> {
  return page.evaluate("((frame) => frame.scrollWidth - frame.clientWidth)(document.querySelector('[data-graph]'))");
}

const member = (name: string, after: string | readonly string[] = [], rest: Partial<FlowMemberInput> = {}): FlowMemberInput => ({
  name,
  type: name,
  after,
  ...rest,
});

const DIAMOND = [member("fetch"), member("a", "fetch"), member("b", "fetch"), member("report", ["a", "b"]), member("done", "*")];

/** Handlers that wait until the test lets them go. */
class Gates {
  readonly #waiting = new Map<string, () => void>();
  /** Types that fail for good. */
  readonly broken = new Set<string>();

  work(client: Client): AsyncDisposable {
    return client.work({ "*": (_, ctx) => this.#run(ctx.flow.name!) }, { concurrency: 10 });
  }

  async #run(name: string): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.set(name, resolve));
    if (this.broken.has(name)) throw new Discard(`${name} broke: line 4 has 3 columns, not 5`);
  }

  /** Lets the handlers of these members end, as soon as they run. */
  async pass(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      await eventually(() => this.#waiting.has(name)).toBe(true);
      this.#waiting.get(name)!();
      this.#waiting.delete(name);
    }
  }
}

test("the graph of a flow is drawn, and follows its members to the end", async () => {
  const { client, visit } = await open();
  const gates = new Gates();
  await using _worker = gates.work(client);
  const flow = await client.flow(DIAMOND, { key: "import-42", tags: ["nightly"] });
  const page = await visit("flows");
  const row = page.locator(`[data-flow="${flow.id}"]`);
  await row.getByText("0 of 5 members completed").waitFor();
  await gates.pass("fetch");
  await row.getByText("1 of 5 members completed").waitFor();
  await row.getByRole("link", { name: "import-42" }).click();

  await page.getByRole("heading", { name: "Flow import-42 running" }).waitFor();
  await eventually(async () => (await boxes(page)).toSorted()).toEqual([
    "a running",
    "b running",
    "done blocked",
    "fetch completed",
    "report blocked",
  ]);
  // From left to right: whoever waits is drawn after what it waits for.
  const lefts = await Promise.all(["fetch", "a", "report", "done"].map(async (name) => (await box(page, name).boundingBox())!.x));
  expect(lefts).toEqual(lefts.toSorted((one, other) => one - other));
  await box(page, "a").hover();
  await card(page, "Members").getByText("Waits for").waitFor();
  await card(page, "Members").getByText("If one of them fails").waitFor();

  await gates.pass("a");
  await eventually(() => box(page, "a").innerText()).toMatch(/^a\s+a\s+completed\s+[\d.]+ m?s$/);
  await gates.pass("b", "report", "done");
  await page.getByRole("heading", { name: "Flow import-42 completed" }).waitFor();
  await page.getByText("5 of 5 members completed").waitFor();
  await eventually(() => boxes(page)).toEqual([
    "fetch completed",
    expect.any(String),
    expect.any(String),
    "report completed",
    "done completed",
  ]);
  const path = page.getByRole("list", { name: "Critical path" });
  // `b` ended after `a`.
  await eventually(() => path.getByRole("link").allInnerTexts()).toEqual(["fetch", "b", "report", "done"]);
  await eventually(() => page.locator("[data-box]", { hasText: "on the critical path" }).count()).toBe(4);
  expect(await page.title()).toBe("✓ flow import-42 · Millrace");

  await page.getByRole("link", { name: "Flows" }).first().click();
  await page.getByRole("link", { name: /^Completed\s*1$/ }).click();
  await row.getByText("5 of 5 members completed").waitFor();
  await page.getByRole("link", { name: /^Running\s*0$/ }).click();
  await page.getByText("No flow is running").waitFor();
});

test("the arrow keys move along the edges, Enter opens the job, and the job leads back", async () => {
  const { client, visit } = await open();
  const flow = await client.flow(DIAMOND);
  const page = await visit();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  await page.getByRole("link", { name: flow.id.slice(-8) }).press("Enter");
  await page.getByRole("button", { name: "Graph" }).focus();
  await box(page, "fetch").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  // One stop for the whole graph: the next one is beyond it.
  expect(await focused(page)).toBe("fetch");
  for (const [key, there] of [
    ["ArrowLeft", ["fetch"]],
    ["ArrowRight", ["a", "b"]],
    ["ArrowRight", ["report"]],
    ["ArrowRight", ["done"]],
    ["Home", ["fetch"]],
    ["End", ["done"]],
    ["ArrowLeft", ["report"]],
  ] as const) {
    await page.keyboard.press(key);
    expect(there).toContain(await focused(page));
  }
  await page.locator("#flow-member-details").getByText("report in default").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "report blocked" }).waitFor();
  await page.getByText("Member “report” of flow").waitFor();
  const place = card(page, "Place in its flow");
  await eventually(() => place.locator("dl").innerText()).toMatch(/Waits for\s+a\s+blocked\s+b\s+blocked\s+Waited for by\s+done\s+blocked/);
  const why = card(page, "Why is it not running?").locator("[data-reason=waits_for_members]");
  await why.getByText("in its flow").waitFor();
  await why.getByRole("link", { name: '"a"' }).click();
  await page.getByRole("heading", { name: "a blocked" }).waitFor();
  await page.getByRole("link", { name: "See the flow" }).first().click();
  await page.getByRole("heading", { name: `Flow …${flow.id.slice(-8)} running` }).waitFor();
  await page.goBack();
  await page.goto(page.url().replace(/jobs\/.*/, `jobs/${flow.id}`));
  await page.getByRole("link", { name: "See this flow and its members" }).click();
  await box(page, "fetch").waitFor();
});

test("a flow that failed says why, and is retried from its page", async () => {
  const { client, visit } = await open();
  const gates = new Gates();
  gates.broken.add("b");
  await using _worker = gates.work(client);
  const flow = await client.flow(DIAMOND);
  await gates.pass("fetch", "a", "b");
  const page = await visit();
  await page.getByText("1 flow failed").click();
  await page.locator(`[data-flow="${flow.id}"]`).getByRole("link").click();
  await page.getByText("2 of 5 members completed, 1 failed, 2 cancelled").waitFor();
  const failed = page.getByRole("list", { name: "Failed members" });
  await eventually(() => failed.innerText()).toMatch(/^b\s+dead\s+1 attempt\s+Discard: b broke: line 4 has 3 columns, not 5$/);
  await eventually(() => box(page, "report").getAttribute("data-status")).toBe("cancelled");

  gates.broken.clear();
  await page.keyboard.press("r");
  const dialog = page.getByRole("dialog", { name: /^Retry 1 member of flow/ });
  await dialog.getByText("1 member is dead or failed, and will be retried.").waitFor();
  await dialog.getByLabel("Reason").fill("the file is mended");
  await dialog.getByRole("button", { name: "Retry it" }).click();
  await page.locator("[data-toast=done]", { hasText: "1 member of flow" }).waitFor();
  await page.getByRole("heading", { name: /running$/ }).waitFor();
  await gates.pass("b", "report", "done");
  await page.getByRole("heading", { name: /completed$/ }).waitFor();
  expect(await failed.count()).toBe(0);
  await page.getByRole("link", { name: "Audit" }).last().click();
  await page.getByText("Flow retried").last().waitFor();
  await page.getByText("the file is mended").waitFor();
  expect(await page.getByRole("link", { name: flow.id.slice(-8) }).getAttribute("href")).toMatch(`/flows/${flow.id}`);
});

test("a flow that waits for a retry names who waits, and is cancelled and deleted from its page", async () => {
  const { client, visit } = await open();
  const gates = new Gates();
  gates.broken.add("fetch");
  await using _worker = gates.work(client);
  const flow = await client.flow([member("fetch"), member("report", "fetch", { onFailure: "wait" }), member("slow")]);
  await gates.pass("fetch");
  const page = await visit(`flows/${flow.id}`);
  const waits = page.getByRole("region", { name: "What it waits for" });
  await eventually(() => waits.innerText()).toBe("1 member waits until what it waits for is retried: report.");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: /^Cancel flow/ });
  await dialog.getByText("2 members have not ended and will be cancelled. 1 is running: its handler is told to stop").waitFor();
  await dialog.getByRole("button", { name: "Cancel the flow" }).click();
  await gates.pass("slow");
  await page.getByRole("heading", { name: /cancelled$/ }).waitFor();
  await waits.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No flows").waitFor();
  await page.goto(`${page.url().replace(/flows.*/, "flows/")}${flow.id}`);
  await page.getByRole("heading", { name: "There is no such flow" }).waitFor();
});

test("very many members are a table, by name and status; their jobs are found by the flow", async () => {
  const { client, visit } = await open();
  const chunks = Array.from({ length: 398 }, (_, index) => member(`chunk-${index + 1}`, "split", { type: "chunk" }));
  const flow = await client.flow([member("split"), ...chunks, member("done", "*", { onFailure: "run" })]);
  {
    await using _worker = client.work(
      { split: () => {}, chunk: (_, ctx) => (ctx.flow.name === "chunk-7" ? Promise.reject(new Discard("no")) : Promise.resolve()) },
      { concurrency: 50 },
    );
    await eventually(() => client.flows.get(flow.id)).toMatchObject({ completed: 398, failed: 1 });
  }
  const page = await visit(`flows/${flow.id}`);
  const groups = page.getByRole("table", { name: "Members with like names" });
  const group = groups.locator('[data-group="chunk-*"]');
  await eventually(() => group.innerText()).toMatch(/^\s*chunk-\*\s+397\s+completed\s+1\s+dead\s+398$/);
  expect(await page.getByRole("button", { name: "Graph" }).count()).toBe(0);
  await page.getByText("400 members, in 3 rows").waitFor();
  await group.getByRole("button", { name: "Members chunk-*" }).click();
  await page.getByRole("button", { name: "Show 100 of 298 more" }).click();
  await page.locator('[data-member="chunk-200"]').waitFor();
  await page.getByLabel("Status", { exact: true }).selectOption("dead");
  await eventually(() => page.locator("[data-member]").evaluateAll((all) => all.map((each) => each.getAttribute("data-member")))).toEqual([
    "chunk-7",
  ]);
  await page.getByLabel("Status", { exact: true }).selectOption("");
  await page.getByLabel("Name or type").fill("CHUNK-39");
  await page.getByText("10 of 400 members").waitFor();
  await page.locator('[data-member="chunk-398"]').waitFor();
  await page.reload();
  await page.getByText("10 of 400 members").waitFor();

  await page.getByRole("link", { name: "Jobs", exact: true }).last().click();
  await page.getByRole("button", { name: "Remove the filter flow" }).waitFor();
  expect(new URL(page.url()).search).toBe(`?flow=${flow.id}`);
  await page.getByLabel(/^Find a job by its id/).fill(`flow:${flow.id} status:dead`);
  await page.keyboard.press("Enter");
  await page.getByText("1 job on this page").waitFor();
});

test("a phone shows members as a list, and their graph inside a frame of its own; a viewer can change nothing", async () => {
  const { client, visit } = await open({ users: [viewer] });
  const flow = await client.flow(DIAMOND);
  const page = await visit(`flows/${flow.id}`, { width: 360, height: 740 });
  await page.getByLabel("User name").fill(viewer.name);
  await page.getByLabel("Password").fill(viewer.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("list", { name: "Members" }).locator('[data-member="report"]').waitFor();
  expect(await tooWide(page)).toBe(0);
  await page.getByRole("button", { name: "Graph" }).click();
  await box(page, "done").scrollIntoViewIfNeeded();
  expect(await tooWide(page)).toBe(0);
  expect(await hidden(page)).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Show the whole width" }).click();
  await eventually(() => hidden(page)).toBe(0);
  for (const name of ["Retry", "Cancel", "Delete"]) expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
  await page.keyboard.press("c");
  expect(await page.getByRole("dialog").count()).toBe(0);
  await page.goto(page.url().replace(/flows.*/, "flows"));
  await page.locator(`[data-flow="${flow.id}"]`).getByText("0 of 5 members completed").waitFor();
  expect(await tooWide(page)).toBe(0);
});
