import { expect, test } from "vitest";
import { showJob } from "../../../src/cli/job-view.ts";
import { Output } from "../../../src/cli/output.ts";
import { Session } from "../../../src/cli/session.ts";
import { claim, openClient } from "../client/open-client.ts";
import { fakeTerminal } from "./type-command.ts";

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
