// What goes wrong around the dashboard: a server that dies, payloads that want to be more than text, keys, roles, and other mounts.

import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ApplicationAuth } from "../../src/http/server.ts";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";

const open = stage();

describe("a server that dies while a page is open", () => {
  test("is told of at once, with how old the figures are, and the page catches up when it is back", async () => {
    const { client, visit, kill, revive } = await open();
    await client.enqueue("before");
    const page = await visit();
    await page.getByRole("table", { name: "The latest jobs" }).getByText("before").waitFor();
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await kill();
    await page.getByText(/The server cannot be reached/).waitFor();
    await page.getByText(/This data is \d+ s old/).waitFor();
    await page.getByRole("button", { name: "Live updates: Offline" }).waitFor();
    await page.getByRole("table", { name: "The latest jobs" }).getByText("before").waitFor();
    await client.enqueue("meanwhile");
    await revive();
    await page.getByRole("table", { name: "The latest jobs" }).getByText("meanwhile").waitFor();
    await page.getByText(/This data is \d+ s old/).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await client.enqueue("afterwards");
    await page.getByRole("table", { name: "The latest jobs" }).getByText("afterwards").waitFor();
  });

  test("keeps a page that is opened meanwhile waiting, with a reason", async () => {
    const { client, visit, kill, revive } = await open();
    await client.enqueue("t");
    const page = await visit("queues");
    await page.locator("[data-queue=default]").waitFor();
    await kill();
    await page.getByRole("link", { name: /^Workers/ }).click();
    await page.getByText("This could not be loaded.").waitFor();
    await revive();
    await page.getByText("No worker is running").waitFor();
  });
});

describe("without a stream of news", () => {
  test("the page looks by itself every few seconds", async () => {
    const { client, visit } = await open();
    await client.enqueue("first");
    const page = await visit("queues");
    await page.route("**/api/v1/events", (route) => route.fulfill({ status: 404, json: {} }));
    await page.reload();
    await page.getByRole("button", { name: "Live updates: Polling" }).waitFor();
    await client.enqueue("t", null, { queue: "second" });
    await page.locator("[data-queue=second]").waitFor();
  });
});

describe("a page that is held", () => {
  test("stays as it is until it follows again", async () => {
    const { client, visit } = await open();
    await client.enqueue("t", null, { queue: "first" });
    const page = await visit("queues");
    await page.getByRole("button", { name: "Live updates: Live" }).click();
    await page.getByRole("button", { name: "Live updates: Paused" }).waitFor();
    await client.enqueue("t", null, { queue: "second" });
    // Whatever the page would have asked for by itself, it would have asked for before this answer.
    await page.getByRole("link", { name: /^Workers/ }).click();
    await page.getByText("No worker is running").waitFor();
    await page.getByRole("link", { name: "Overview" }).first().click();
    await page.keyboard.press("l");
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await page.getByRole("link", { name: /second 1/ }).waitFor();
  });
});

describe("W12: hostile texts", () => {
  const HOSTILE = {
    script: "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>",
    link: "javascript:window.hacked = true",
    turned: "abc\u202egnp.exe",
    unseen: "zero\u200bwidth\u0000null\u001b[31mred",
    "<b>key</b>": "</pre></script>",
  };

  test("are shown as the texts that they are, everywhere", async () => {
    const { client, visit } = await open();
    const { id } = await client.enqueue("hostile", HOSTILE, {
      tags: ["<i>tag</i>"],
      meta: { note: HOSTILE.script },
      idempotencyKey: HOSTILE.script,
    });
    await letDie(client, "hostile", `${HOSTILE.script} ${HOSTILE.turned}`);
    const page = await visit(`jobs/${id}`);
    await eventually(() => page.getByRole("region", { name: "Payload" }).innerText()).toContain(
      'script: "<script>window.hacked = true</script><img',
    );
    const text = await page.getByRole("region", { name: "Payload" }).innerText();
    expect(text).toContain('link: "javascript:window.hacked = true"');
    expect(text).toContain('turned: "abc\\u202egnp.exe"');
    expect(text).toContain('unseen: "zero\\u200bwidth\\u0000null\\u001b[31mred"');
    expect(text).toContain('<b>key</b>: "</pre></script>"');
    expect(text).not.toMatch(/[\u202e\u200b\u0000\u001b]/);
    await page.getByRole("link", { name: "<i>tag</i>" }).waitFor();
    for (const address of ["dead", "jobs?tag=%3Ci%3Etag%3C/i%3E", ""]) {
      await page.goto(page.url().replace(/dashboard\/.*/, `dashboard/${address}`));
      await page.getByText("hostile").first().waitFor();
    }
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect(await page.locator('a[href^="javascript:"]').count()).toBe(0);
  });

  test("of a megabyte are shown a part at a time", async () => {
    const { client, visit } = await open();
    const rows = Array.from({ length: 9000 }, (_, index) => ({ id: index, name: `row ${index}`, note: "x".repeat(60) }));
    const { id } = await client.enqueue("large", { rows, text: "y".repeat(100_000) });
    const page = await visit(`jobs/${id}`);
    const payload = page.getByRole("region", { name: "Payload" });
    await payload.getByText("9,000 items").click();
    await payload.getByRole("button", { name: "Show 500 of 8,900 more" }).click();
    await payload.getByRole("button", { name: "Show 500 of 8,400 more" }).waitFor();
    await payload.getByRole("button", { name: /98,000 more characters/ }).waitFor();
    await page.getByRole("button", { name: "Text", exact: true }).click();
    await payload.getByText(/cut here/).waitFor();
  });
});

describe("keys", () => {
  const server = { keys: ["all-of-it", "look:read:only-look"] };

  test("are asked for, refused when wrong, kept for the tab, and forgotten", async () => {
    const { client, visit } = await open({ server });
    await client.enqueue("secret:job");
    const page = await visit("jobs");
    await page.getByLabel("API key").fill("wrong");
    await page.getByRole("button", { name: "Use this key" }).click();
    await page.getByText("The server refused the last key.").waitFor();
    await page.getByLabel("API key").fill("all-of-it");
    await page.getByRole("button", { name: "Use this key" }).click();
    await page.getByRole("cell", { name: "secret:job", exact: true }).waitFor();
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await page.reload();
    await page.getByRole("cell", { name: "secret:job", exact: true }).waitFor();
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByRole("menuitem", { name: "Forget the API key" }).click();
    await page.getByLabel("API key").waitFor();
  });

  test("that may only look bring no buttons that act", async () => {
    const { client, visit } = await open({ server });
    const { id } = await client.enqueue("t", null, { queue: "mail" });
    const page = await visit("queues");
    await page.getByLabel("API key").fill("only-look");
    await page.getByRole("button", { name: "Use this key" }).click();
    await page.locator("[data-queue=mail]").waitFor();
    expect(await page.getByRole("button", { name: /Pause|Enqueue|Settings of/ }).count()).toBe(0);
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.locator(`[data-job="${id}"] a[data-open]`).click();
    await page.getByRole("button", { name: "Copy as" }).waitFor();
    expect(await page.getByRole("button", { name: /Cancel|Duplicate/ }).count()).toBe(0);
    await page.keyboard.press("c");
    await page.getByRole("link", { name: /^Workers/ }).click();
    await page.getByText("No worker is running").waitFor();
    expect(await client.get(id)).toMatchObject({ status: "pending" });
  });
});

describe("users", () => {
  const users = [
    { name: "ann", password: "the mill", role: "operator" },
    { name: "vic", password: "the pond", role: "viewer" },
  ] as const;

  test("sign in by name and password, and out again", async () => {
    const { client, visit } = await open({ users });
    await client.enqueue("t");
    const page = await visit("jobs");
    await page.getByLabel("User name").fill("ann");
    await page.getByLabel("Password").fill("the wheel");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Wrong user name or password.").waitFor();
    await page.getByLabel("Password").fill("the mill");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("tr[data-job] a[data-open]").click();
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { name: "t cancelled" }).waitFor();
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByRole("menuitem", { name: "Sign out ann (operator)" }).click();
    await page.getByLabel("User name").waitFor();
    await page.reload();
    await page.getByLabel("User name").waitFor();
  });

  test("of the application around the server are asked to sign in there, and not offered to sign out here", async () => {
    const auth: ApplicationAuth = ({ header }) => (header("cookie")?.includes("own=1") === true ? { name: "ann", role: "operator" } : null);
    const { visit, url } = await open({ server: { auth }, basePath: "/admin/jobs" });
    const page = await visit();
    await page.getByText("Sign in to your application, then load this page again.").waitFor();
    await page.evaluate(`document.cookie = "own=1; path=/"`);
    // Without its slash: the page must find its files and its pages all the same.
    await page.goto(url.replace(/\/$/, ""));
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await page.getByRole("link", { name: /^Workers/ }).click();
    await page.getByText("No worker is running").waitFor();
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByRole("menuitem", { name: "Keyboard shortcuts" }).waitFor();
    expect(await page.getByRole("menuitem", { name: /Sign out/ }).count()).toBe(0);
  });

  test("are told when only this server knows that they signed out, until they sign in again", async () => {
    const { client, visit } = await open({ users, losesStore: true });
    const page = await visit("jobs");
    await page.getByLabel("User name").fill("ann");
    await page.getByLabel("Password").fill("the mill");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Options" }).click();
    await client.close();
    await page.getByRole("menuitem", { name: "Sign out ann (operator)" }).click();
    await page.getByText("Signed out here.").waitFor();
    await page.getByLabel("User name").fill("ann");
    await page.getByLabel("Password").fill("the mill");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Options" }).waitFor();
    expect(await page.getByText("Signed out here.").count()).toBe(0);
  });

  test("stay signed in, and are told so, when nobody answers their sign-out", async () => {
    const { visit, kill } = await open({ users });
    const page = await visit("jobs");
    await page.getByLabel("User name").fill("ann");
    await page.getByLabel("Password").fill("the mill");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Options" }).click();
    await kill();
    await page.getByRole("menuitem", { name: "Sign out ann (operator)" }).click();
    await page.getByText("You are still signed in.").waitFor();
  });

  test("who may only look are offered nothing else, and stay signed in when the server starts again", async () => {
    const { client, visit, kill, revive } = await open({ users });
    await client.enqueue("t", null, { queue: "mail" });
    const page = await visit("queues");
    await page.getByLabel("User name").fill("vic");
    await page.getByLabel("Password").fill("the pond");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("[data-queue=mail]").waitFor();
    expect(await page.getByRole("button", { name: /Pause|Enqueue|Settings of/ }).count()).toBe(0);
    await kill();
    await page.getByRole("button", { name: "Live updates: Offline" }).waitFor();
    await revive();
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await page.reload();
    await page.locator("[data-queue=mail]").waitFor();
  });
});

describe("mounted elsewhere", () => {
  test("under another path, the same files serve every page, also after a reload", async () => {
    const { client, visit, url } = await open({ basePath: "/admin/queues" });
    const { id } = await client.enqueue("t");
    expect(url).toMatch(/\/admin\/queues\/dashboard\/$/);
    const page = await visit(`jobs/${id}`);
    await page.getByRole("heading", { name: "t pending" }).waitFor();
    await page.getByRole("link", { name: "Schedules" }).click();
    await page.getByText("No schedules").waitFor();
    expect(page.url()).toBe(`${url}schedules`);
    await page.reload();
    await page.getByText("No schedules").waitFor();
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
  });

  test("behind a proxy that takes its part of the path off, everything is found, too", async () => {
    const { client, visit, url } = await open();
    await client.enqueue("t");
    const target = new URL(url);
    const proxy = createServer((incoming, outgoing) => {
      const path = incoming.url?.replace(/^\/ops\/mill/, "") ?? "/";
      const passed = request({ port: target.port, path, method: incoming.method ?? "GET", headers: incoming.headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      passed.on("error", () => outgoing.destroy());
      incoming.pipe(passed);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const page = await visit();
    const outside = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/ops/mill/dashboard`;
    await page.goto(`${outside}/jobs`);
    await page.locator("tr[data-job] a[data-open]").click();
    await page.getByRole("heading", { name: "t pending" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "t pending" }).waitFor();
    await page.getByRole("button", { name: "Live updates: Live" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { name: "t cancelled" }).waitFor();
    await page.goto(outside);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(page.url()).toBe(outside);
    await page.getByRole("link", { name: "Jobs" }).first().click();
    await page.waitForURL(`${outside}/jobs**`);
  });
});
