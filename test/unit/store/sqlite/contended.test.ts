import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { JOB_DEFAULTS, createJob } from "../../../../src/core/job-options.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { temporaryFile } from "./temporary-file.ts";

test("a call that finds the file locked by another process is told as contended, and goes through when it is free", async () => {
  const path = temporaryFile();
  const met = Promise.withResolvers<"lock">();
  let contended = 0;
  const onContended = (reason: "lock"): void => {
    contended++;
    met.resolve(reason);
  };
  const store = await openStore(`sqlite:${path}`, { onContended });
  expect(contended).toBe(0);
  const other = new DatabaseSync(path);
  other.exec("begin immediate");
  const inserted = store.insert([createJob(idMaker(() => Date.now())(1), "t", null, JOB_DEFAULTS)]);
  expect(await met.promise).toBe("lock");
  other.exec("rollback");
  other.close();
  expect(await inserted).toMatchObject([{ kind: "created" }]);
  await store.close();
});
