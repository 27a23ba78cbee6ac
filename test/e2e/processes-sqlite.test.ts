import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { durableProcessSuite } from "./durable-processes.ts";
import { flowProcessSuite } from "./flow-processes.ts";
import { limitProcessSuite } from "./limit-processes.ts";
import { processSuite } from "./process-suite.ts";
import { startProgram, temporaryFolder } from "./run-program.ts";

const emptyStore = (): string => `sqlite:${join(temporaryFolder(), "jobs.db")}`;

processSuite("one SQLite file", emptyStore);
limitProcessSuite("one SQLite file", emptyStore);
durableProcessSuite("one SQLite file", emptyStore);
flowProcessSuite("one SQLite file", emptyStore);

// Not so on Redis: there an open connection keeps the process until the client is closed, as everybody is used to.
test("a process whose last worker has stopped ends by itself, also without close", async () => {
  const stopping = startProgram(fileURLToPath(new URL("./programs/stops-its-worker.ts", import.meta.url)), [emptyStore()]);
  expect(await stopping.ended).toEqual({ code: 0, signal: null });
  expect(stopping.output.stdout).toContain("completed");
});
