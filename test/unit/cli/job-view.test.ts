import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { showJob } from "../../../src/cli/job-view.ts";
import { Output } from "../../../src/cli/output.ts";
import { Session } from "../../../src/cli/session.ts";
import { claim, die, openClient } from "../client/open-client.ts";
import { fakeTerminal, folderOfOwn, typeCommand } from "./type-command.ts";

test("a job that was lost more often than is allowed is shown in words that make sense", async () => {
  const { client, clock } = await openClient({ upkeep: true });
  const { id } = await client.enqueue("t", null, { maxRetries: 5, maxLost: 0 });
  await claim(client);
  await clock.advance("1m");
  const terminal = fakeTerminal([], {});
  await showJob(client, id, new Session(terminal, new Output(terminal, {}), { flags: {} }));
  expect(terminal.stdout.text).toMatch(/^status +dead$/m);
  expect(terminal.stdout.text).toMatch(/^lost +1 \(at most 0 allowed\)$/m);
  expect(terminal.stdout.text).toContain("find out what ended that worker, then retry the job");
});

test("a job that was retried by hand is shown with its lives, and who retried it", async () => {
  const { client } = await openClient();
  const { id } = await client.enqueue("t");
  await die(client);
  await client.retry(id, { by: "ann", reason: "the disk\u001b[2J is back" });
  await die(client);
  const terminal = fakeTerminal([], { columns: 200 });
  await showJob(client, id, new Session(terminal, new Output(terminal, {}), { flags: {} }));
  expect(terminal.stdout.text).toMatch(/^ *LIFE +ATTEMPT .*\n +1 +1 +failed .*\n +2 +2 +failed/m);
  expect(terminal.stdout.text).toMatch(/^CHANGE +WAS +AGE +BY +REASON\nretried +dead +\S+ +ann +the disk\S+ is back/m);
  expect(terminal.stdout.text).not.toContain("\u001b[2J");
});

test("a command on a store names the system's user", async () => {
  const cwd = folderOfOwn();
  const env = { DATABASE_URL: "sqlite:jobs.db" };
  const { stdout: id } = await typeCommand(["enqueue", "t"], { cwd, env });
  await typeCommand(["cancel", id.trim(), "--reason", "mistyped"], { cwd, env });
  const { stdout } = await typeCommand(["status", id.trim(), "--json"], { cwd, env });
  const by = `cli:${userInfo().username}`;
  expect(JSON.parse(stdout)).toMatchObject({ changes: [{ by, reason: "mistyped" }] });
  const { stdout: other } = await typeCommand(["enqueue", "t"], { cwd, env });
  await typeCommand(["signal", other.trim(), "go", "--reason", "asked to"], { cwd, env });
  const audit = await typeCommand(["audit", "--job", other.trim(), "--json"], { cwd, env });
  expect(JSON.parse(audit.stdout)).toMatchObject({ action: "job:signalled", by, reason: "asked to", details: "type=t signal=go" });
});
