// Durable work in the dashboard: the steps of a job, the signals that it waits for, the jobs that it calls, and how it is retried.

import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Client } from "../../src/client/client.ts";
import { Discard } from "../../src/core/control-errors.ts";
import { eventually, stage } from "./dashboard/fixture.ts";

const open = stage();

const viewer = { name: "vic", password: "the pond", role: "viewer" } as const;

async function signIn(page: Page): Promise<void> {
  await page.getByLabel("User name").fill(viewer.name);
  await page.getByLabel("Password").fill(viewer.password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

function card(page: Page, title: string): Locator {
  return page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) });
}

function step(page: Page, name: string): Locator {
  return card(page, "Steps").locator("li", { has: page.getByRole("heading", { name, exact: true }) });
}

/** Until the job waits for somebody. */
async function blocked(client: Client, id: string): Promise<void> {
  await eventually(() => client.get(id)).toMatchObject({ status: "blocked" });
}

/** No updates but those that the page asks for after a change of its own. */
async function pauseUpdates(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Live updates: Live" }).click();
}

describe("the steps of a job", () => {
  test("are followed from the first to the end: results, waits, sleeps and calls", async () => {
    const { client, visit } = await open();
    let render = (): void => {};
    await using _worker = client.work({
      onboarding: async (_, ctx) => {
        const account = await ctx.step("create account", () => ({ account: 48211, plan: "pro" }));
        const approval = await ctx.waitFor("approval", { timeout: "7d" });
        await ctx.sleep("a moment", 300);
        const file = await ctx.call("render the contract", "pdf:render", { account });
        return { approval, file };
      },
      "pdf:render": async () => {
        await new Promise<void>((resolve) => (render = resolve));
        return { pages: 3 };
      },
    });
    const { id } = await client.enqueue("onboarding", { user: "ann" });
    const page = await visit(`jobs/${id}`);
    await page.getByRole("heading", { name: "onboarding blocked" }).waitFor();

    const account = step(page, "create account");
    await eventually(() => account.innerText()).toMatch(/^create account\s+step\s+done\s+\d+ ms\s+Began .*, ended /);
    await account.getByRole("button", { name: "Result of create account" }).click();
    await eventually(() => account.getByRole("region", { name: "Result of create account" }).innerText()).toContain("account: 48211");
    const wait = step(page, "approval");
    await eventually(() => wait.innerText()).toMatch(
      /approval\s+wait\s+open\s+\d+ s so far[\s\S]*Waits for the signal until .* \(in 6 d\)/,
    );
    await card(page, "Why is it not running?").getByText('Its handler waits for the signal "approval"').waitFor();

    await wait.getByRole("button", { name: "Send signal approval" }).click();
    const dialog = page.getByRole("dialog", { name: "Send signal" });
    await dialog.getByLabel("Payload").fill('{ "by": "bob", "n": 9007199254740993 ');
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByText(/^Not JSON/).waitFor();
    await dialog.getByLabel("Payload").fill('{ "by": "bob", "n": 9007199254740993 }');
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await page.locator("[data-toast=done]", { hasText: "Signal approval was sent to onboarding" }).waitFor();
    await dialog.waitFor({ state: "detached" });
    await wait.getByText("done", { exact: true }).waitFor();
    await wait.getByRole("button", { name: "Payload of approval" }).click();
    await eventually(() => wait.getByRole("region", { name: "Payload of approval" }).innerText()).toContain("n: 9007199254740993");

    await eventually(() => step(page, "a moment").innerText()).toMatch(/sleep\s+done/);
    const call = step(page, "render the contract");
    await eventually(() => call.innerText()).toMatch(/call\s+open[\s\S]*Waits for\s+\w{8}\s+pdf:render in default\s+running/);
    await card(page, "Why is it not running?").getByRole("link").waitFor();
    render();
    await page.getByRole("heading", { name: "onboarding completed" }).waitFor();
    await eventually(() => call.innerText()).toMatch(
      /call\s+done[\s\S]*Called\s+\w{8}\s+pdf:render in default\s+completed\s+Result\s+of render the contract\s+\{"pages":3\}/,
    );
    await eventually(() => card(page, "Steps").getByRole("heading", { level: 3 }).allInnerTexts()).toEqual([
      "create account",
      "approval",
      "a moment",
      "render the contract",
    ]);
    await card(page, "Timeline").getByText("Ran its steps and waited").waitFor();

    await call.getByRole("link").click();
    await page.getByRole("heading", { name: "pdf:render completed" }).waitFor();
    await page.getByText("in step “render the contract”").waitFor();
    await page.getByRole("link", { name: id.slice(-8) }).click();
    await page.getByRole("heading", { name: "onboarding completed" }).waitFor();
  });

  test("tell of calls that failed, and of waits that timed out", async () => {
    const { client, visit } = await open();
    await using _worker = client.work({
      order: async (_, ctx) => {
        await ctx.waitFor("answer", { timeout: 1 });
        await ctx.call("charge", "charge");
      },
      charge: () => {
        throw new Discard("the card expired");
      },
    });
    const { id } = await client.enqueue("order", null, { maxRetries: 0 });
    await client.wait(id);
    const page = await visit(`jobs/${id}`);
    await eventually(() => step(page, "answer").innerText()).toMatch(/wait\s+timeout[\s\S]*No signal came in time\./);
    await eventually(() => step(page, "charge").innerText()).toMatch(/call\s+failed[\s\S]*charge in default\s+dead[\s\S]*the card expired/);
  });

  test("are shown a hundred at a time", async () => {
    const { client, visit } = await open();
    await using _worker = client.work({
      import: async (_, ctx) => {
        await Promise.all(Array.from({ length: 230 }, (_row, row) => ctx.step(`row ${row}`, () => row)));
      },
    });
    const { id } = await client.enqueue("import", null, { timeout: "5m" });
    await client.wait(id);
    const page = await visit(`jobs/${id}`);
    const names = card(page, "Steps").getByRole("heading", { level: 3 });
    await card(page, "Steps").getByText("230 steps").waitFor();
    await eventually(() => names.count()).toBe(100);
    await page.getByRole("button", { name: "Show 100 of 130 more" }).click();
    await eventually(() => names.count()).toBe(200);
    await page.getByRole("button", { name: "Show 30 of 30 more" }).click();
    await eventually(() => names.count()).toBe(230);
    expect(await page.evaluate("document.activeElement.matches('li[data-step]')")).toBe(true);
  });

  test("are not there for a job that keeps none", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("t");
    const page = await visit(`jobs/${id}`);
    await page.getByRole("heading", { name: "t pending" }).waitFor();
    expect(await card(page, "Steps").count()).toBe(0);
  });
});

describe("a signal", () => {
  test("whose wait published a schema is a form, and each field says what is wrong", async () => {
    const { client, visit } = await open();
    await using _worker = client.work({
      order: (_, ctx) => ctx.waitFor("approval", { schema: z.object({ by: z.string(), amount: z.int(), note: z.string().optional() }) }),
    });
    const { id } = await client.enqueue("order");
    await blocked(client, id);
    const page = await visit(`jobs/${id}`);
    await card(page, "Why is it not running?").getByRole("button", { name: "Send signal approval" }).click();
    const dialog = page.getByRole("dialog", { name: "Send signal" });
    await dialog.getByLabel("by").fill("bob");
    await dialog.getByLabel("amount").fill("some");
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByText(/^This must be/).waitFor();
    await dialog.getByLabel("amount").fill("12");
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("heading", { name: "order completed" }).waitFor();
    expect((await client.get(id))?.result).toEqual({ by: "bob", amount: 12 });
  });

  test("without a payload is an answer, and no timeout", async () => {
    const { client, visit } = await open();
    await using _worker = client.work({
      order: async (_, ctx) => ((await ctx.waitFor("approval", { timeout: "7d" })) === undefined ? "approved" : "nobody answered"),
    });
    const { id } = await client.enqueue("order");
    await blocked(client, id);
    const page = await visit(`jobs/${id}`);
    await step(page, "approval").getByRole("button", { name: "Send signal approval" }).click();
    await page.getByRole("dialog", { name: "Send signal" }).getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("heading", { name: "order completed" }).waitFor();
    expect((await client.get(id))?.result).toBe("approved");
  });

  test("that did not fit is in the timeline with its error", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("order");
    // Before its wait, nobody knows the schema.
    await client.signal(id, "approval", { by: 7 });
    await using _worker = client.work({ order: (_, ctx) => ctx.waitFor("approval", { schema: z.object({ by: z.string() }) }) });
    await blocked(client, id);
    const page = await visit(`jobs/${id}`);
    await eventually(() => step(page, "approval").innerText()).toMatch(/wait\s+open[\s\S]*Refused a signal, .*: .*expected string/);
    await step(page, "approval").getByRole("button", { name: "Send signal approval" }).waitFor();
  });

  test("that came too late is told so", async () => {
    const { client, visit } = await open();
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    await using _worker = client.work({
      order: async (_, ctx) => {
        await ctx.waitFor("approval");
        await ended;
      },
    });
    const { id } = await client.enqueue("order", null, { timeout: 0 });
    await blocked(client, id);
    const page = await visit(`jobs/${id}`);
    await step(page, "approval").getByRole("button", { name: "Send signal approval" }).waitFor();
    await pauseUpdates(page);
    await client.signal(id, "approval", { by: "ann" });
    await step(page, "approval").getByRole("button", { name: "Send signal approval" }).click();
    const dialog = page.getByRole("dialog", { name: "Send signal" });
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByText("Another signal of this name came first, so this one was not taken.").waitFor();
    end();
    await client.wait(id);
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByText("The job has ended, so it takes no more signals.").waitFor();
  });

  test("that came after the timeout is told so", async () => {
    const { client, visit } = await open();
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    await using _worker = client.work({
      order: async (_, ctx) => {
        await ctx.waitFor("approval", { timeout: 3000 });
        await ended;
      },
    });
    const { id } = await client.enqueue("order", null, { timeout: 0 });
    await blocked(client, id);
    const page = await visit(`jobs/${id}`);
    await pauseUpdates(page);
    await step(page, "approval").getByRole("button", { name: "Send signal approval" }).click();
    await eventually(() => client.steps(id)).toMatchObject([{ name: "approval", state: "timeout" }]);
    const dialog = page.getByRole("dialog", { name: "Send signal" });
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByText("The wait for this signal has timed out, so it was not taken.").waitFor();
    end();
    await client.wait(id);
  });

  test("is not offered to viewers, nor when the job has ended", async () => {
    const { client, visit } = await open({ users: [viewer] });
    await using _worker = client.work({ order: (_, ctx) => ctx.waitFor("approval") });
    const { id } = await client.enqueue("order");
    await blocked(client, id);
    const page = await visit(`jobs/${id}`);
    await signIn(page);
    await step(page, "approval").getByText("Waits for the signal, without a time limit.").waitFor();
    await card(page, "Why is it not running?").getByText("Its handler waits for the signal").waitFor();
    expect(await page.getByRole("button", { name: "Send signal" }).count()).toBe(0);
    await client.cancel(id);
    await step(page, "approval").getByText("Still open when the job ended.").waitFor();
  });
});

describe("a job with steps", () => {
  test("that died continues where it stopped, or starts over", async () => {
    const { client, visit } = await open();
    let charges = 0;
    await using _worker = client.work({
      order: async (_, ctx) => {
        await ctx.step("charge", () => ++charges);
        throw new Discard(`no parcel for charge ${charges}`);
      },
    });
    const { id } = await client.enqueue("order");
    await client.wait(id);
    const page = await visit(`jobs/${id}`);
    const retry = page.getByRole("main").getByRole("button", { name: "Retry", exact: true });
    await retry.click();
    const dialog = page.getByRole("dialog", { name: /^Retry order/ });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await retry.click();
    await dialog.getByLabel("Reason").fill("the parcel is back");
    await dialog.getByRole("button", { name: "Continue where it stopped" }).click();
    await page.getByRole("table", { name: "Attempts of life 2" }).waitFor();
    await eventually(() => client.get(id)).toMatchObject({ status: "dead", attempt: 2 });
    expect(charges).toBe(1);
    await retry.click();
    await dialog.getByRole("button", { name: "Start over" }).click();
    await page.locator("[data-toast=done]", { hasText: "starts over" }).waitFor();
    await eventually(() => client.get(id)).toMatchObject({ status: "dead", attempt: 3 });
    expect(charges).toBe(2);
    expect(await client.changes(id)).toMatchObject([
      { action: "retried", reason: "the parcel is back" },
      { action: "retried", reason: null },
    ]);
  });

  test("is edited, and starts over with the new payload", async () => {
    const { client, visit } = await open();
    await using _worker = client.work({
      order: async ({ item }: { readonly item: string }, ctx) => {
        const reserved = await ctx.step("reserve", () => item);
        if (reserved === "anvil") throw new Discard("too heavy");
        return reserved;
      },
    });
    const { id } = await client.enqueue("order", { item: "anvil" });
    await client.wait(id);
    const page = await visit(`jobs/${id}`);
    await page.getByRole("button", { name: "Edit and retry" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit and retry" });
    await dialog.getByLabel("Payload").fill('{ "item": "feather" }');
    await dialog.getByLabel("Steps").selectOption("Start over");
    await dialog.getByRole("button", { name: "Save and retry" }).click();
    await page.getByRole("heading", { name: "order completed" }).waitFor();
    expect((await client.get(id))?.result).toBe("feather");
  });

  test("that sleeps says until when, and is not started before", async () => {
    const { client, visit } = await open();
    await using _worker = client.work({ reminder: (_, ctx) => ctx.sleep("three days", "3d") });
    const { id } = await client.enqueue("reminder");
    const page = await visit(`jobs/${id}`);
    await page.getByRole("heading", { name: "reminder scheduled" }).waitFor();
    await eventually(() => step(page, "three days").innerText()).toMatch(/sleep\s+open[\s\S]*Sleeps until .* \(in 2 d\)/);
    await card(page, "Why is it not running?").getByText('Its handler sleeps ("three days") until').waitFor();
    expect(await page.getByRole("button", { name: "Start now" }).count()).toBe(0);
  });

  test("that is blocked is counted as such, and is no problem", async () => {
    const { client, visit } = await open();
    await using _worker = client.work({ order: (_, ctx) => ctx.waitFor("approval") });
    const { id } = await client.enqueue("order");
    await blocked(client, id);
    const page = await visit("");
    await page.getByText("plus 1 blocked").waitFor();
    await page.getByText("need attention").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Queues" }).first().click();
    await page.locator("[data-queue=default]").getByRole("link", { name: "1", exact: true }).click();
    await page.getByRole("table", { name: "Jobs" }).getByText("blocked").waitFor();
    await client.signal(id, "approval", null);
    await page.getByRole("table", { name: "Jobs" }).getByText("completed").waitFor();
  });
});
