// Who changed what, in the dashboard.

import { expect, test } from "vitest";
import { eventually, stage } from "./dashboard/fixture.ts";

const open = stage();

test("the audit shows who changed what, and can be narrowed down", async () => {
  const { client, visit } = await open();
  const { id } = await client.enqueue("report:make", null, { queue: "reports" });
  const page = await visit("audit");
  await page.getByText("No changes").waitFor();
  await client.cancel(id, { by: "ann", reason: "made twice" });
  await client.pause("mail", { create: true, by: "bob" });
  const rows = page.getByRole("table", { name: "Changes" }).locator("tbody tr");
  await eventually(() => rows.allInnerTexts()).toEqual([
    expect.stringMatching(/bob\s+Queue paused\s[\s\S]*mail/),
    expect.stringMatching(/ann\s+Job cancelled\s[\s\S]*reports\s+type=report:make was=pending\s+made twice/),
  ]);
  await rows.getByRole("link", { name: "ann" }).click();
  await eventually(() => rows.count()).toBe(1);
  await page.getByRole("button", { name: "by: ann" }).click();
  await page.getByLabel("Kind of change").selectOption("Queue paused");
  await eventually(() => rows.allInnerTexts()).toEqual([expect.stringContaining("bob")]);
  await page.getByLabel("Kind of change").selectOption("All changes");
  await rows.getByRole("link", { name: `…${id.slice(-8)}` }).click();
  await page.getByText("Cancelled by ann").waitFor();
});
