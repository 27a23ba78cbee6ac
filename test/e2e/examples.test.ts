import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { startProgram, temporaryFolder } from "./run-program.ts";

const folder = new URL("../../examples/", import.meta.url);

/** What each program must have said by its end. */
const SAYS: Record<string, string> = {
  "demo.ts": "It is completed now",
  "typed-jobs.ts": "refused: invalid_input in payload.to",
  "retries.ts": "hopeless: dead after 1 attempts",
  "transaction.ts": "1 job for 1 order",
  "schedules.ts": "the schedule made a job",
  "several-queues.ts": "upload 3: ",
  "shutdown.ts": "finished all the same",
  "testing.ts": "completed: 1",
};

/** Not a program: what a server is started with. test/e2e/serve.test.ts does. */
const MODULES = ["handlers.ts"];

describe.concurrent("every example runs to its end by itself", () => {
  test.for(readdirSync(folder).filter((name) => name.endsWith(".ts") && !MODULES.includes(name)))(
    "%s",
    async (name, { onTestFinished: atTheEnd }) => {
      const program = startProgram(fileURLToPath(new URL(name, folder)), [], { cwd: temporaryFolder(atTheEnd), atTheEnd });
      const { code } = await program.ended;
      expect({ code, stderr: program.output.stderr }).toEqual({ code: 0, stderr: "" });
      expect(program.output.stdout).toContain(SAYS[name]);
    },
  );
});
