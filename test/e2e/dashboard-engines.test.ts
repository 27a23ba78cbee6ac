// The main path of the dashboard on the engines that have a server of their own: the same page, the same answers.

import { describe, test } from "vitest";
import { eventually, letDie, stage } from "./dashboard/fixture.ts";
import { storesOfThisFile } from "./stores-of-this-file.ts";

const open = stage();

const [, ...servers] = storesOfThisFile();

describe.each(servers)("on %s", (_, storeUrl) => {
  test("what is wrong is seen, understood and put right", async () => {
    const { client, visit } = await open({ storeUrl: storeUrl() });
    const { id } = await client.enqueue("email:send", { to: "a@example.com" }, { queue: "mail", maxRetries: 0, tags: ["welcome"] });
    await client.enqueueMany([{ type: "report:make" }, { type: "cart:remind", delay: "2h" }]);
    await letDie(client, "email:send", "550 no such mailbox", "mail");
    await client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", type: "clean:up" });

    const page = await visit();
    await page.getByText("1 dead job needs review").click();
    await page.locator("tr[data-job]").getByText("550 no such mailbox").waitFor();
    await page.locator(`[data-job="${id}"] a[data-open]`).click();
    await page.getByRole("heading", { name: "email:send dead" }).waitFor();
    await eventually(() => page.getByRole("region", { name: "Payload" }).innerText()).toContain('to: "a@example.com"');
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await page.getByRole("heading", { name: "email:send pending" }).waitFor();
    await using _worker = client.work({ "email:send": (_payload, { log }) => log("sent this time") }, { queues: ["mail"] });
    await page.getByRole("heading", { name: "email:send completed" }).waitFor();
    await page.getByText("sent this time").waitFor();
    await page.getByText("Attempt 2: completed").waitFor();

    await page.getByRole("link", { name: "Queues" }).click();
    await page.locator("[data-queue=mail]").getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog", { name: "Pause mail?" }).getByRole("button", { name: "Pause" }).click();
    await page.locator("[data-queue=mail]").getByText("paused").waitFor();
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("link", { name: "Completed 1" }).click();
    await eventually(() => page.locator("tr[data-job]").count()).toBe(1);
    await page.getByRole("link", { name: "Schedules" }).click();
    await page.locator("[data-schedule=nightly]").getByRole("button", { name: "Run now" }).click();
    await page.locator("[data-schedule=nightly]").getByText("pending").waitFor();
    await page.getByRole("link", { name: /Delayed jobs/ }).click();
    await page.getByRole("cell", { name: "cart:remind", exact: true }).waitFor();
    await page.getByRole("link", { name: /^Workers/ }).click();
    await page.getByText("1 worker,").waitFor();
  });
});
