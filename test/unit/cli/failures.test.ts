import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../../src/connect.ts";
import { createServer, listen } from "../../../src/server.ts";
import { dieAtOnce } from "../../conformance/die-at-once.ts";
import { folderOfOwn, typeCommand } from "./type-command.ts";

test("dead-groups and facets print exact counts, and say when there are more groups or values than they list", async () => {
  const client = await connect("memory:");
  const listening = await listen(createServer(client, { keys: ["ops:read:s3cret"] }), { port: 0 });
  onTestFinished(async () => {
    await listening.close({ graceMs: 0 });
    await client.close({ grace: 0 });
  });
  await client.configure("mail", { facets: ["customer"] });
  const names = Array.from({ length: 101 }, (_, index) => "x".repeat(index + 1));
  await client.enqueueMany(names.map((type) => ({ type, payload: { customer: type }, queue: "mail" })));
  await dieAtOnce(client, "mail", (type) => type);
  const cwd = folderOfOwn();
  const env = { MILLRACE_URL: listening.url, API_KEY: "s3cret", NO_COLOR: "1", LANG: "C.UTF-8" };
  const byError = await typeCommand(["dead-groups"], { cwd, env });
  expect(byError.stderr).toBe("there are more groups: these are the 100 largest\n");
  expect(byError.stdout).not.toContain("at least");
  const byCustomer = await typeCommand(["facets", "customer"], { cwd, env });
  expect(byCustomer.stderr).toBe("there are more values: these are the 50 with most jobs\n");
  expect(byCustomer.stdout).not.toContain("at least");
});
