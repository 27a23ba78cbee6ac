import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { startProgram, temporaryFolder } from "./run-program.ts";

test("a program that only listens to events lives until they come", async () => {
  const url = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
  const listener = startProgram(fileURLToPath(new URL("programs/listener.ts", import.meta.url)), [url]);
  await listener.printed("listening");
  await using client = await connect(url);
  // A process that has just begun to listen may not be known yet to others as one that wants news.
  const over = new AbortController();
  void listener.ended.then(() => over.abort());
  while (!over.signal.aborted) await client.enqueue("t");
  expect(await listener.ended).toEqual({ code: 0, signal: null });
  expect(listener.output.stdout).toContain("job:created");
});
