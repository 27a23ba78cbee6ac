// For users with `exactOptionalPropertyTypes`: an option that is undefined is an option that was not given. Our own sources are compiled
// without that setting, so this file is compiled once more with it.

import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, expectTypeOf, test } from "vitest";
import type * as millrace from "../../src/index.ts";
import type * as testing from "../../src/testing/index.ts";

/** The optional properties that refuse undefined. */
type Exact<Options> = {
  [Name in keyof Options]-?: Partial<Pick<Options, Name>> extends Pick<Options, Name>
    ? Record<Name, undefined> extends Pick<Options, Name>
      ? never
      : Name
    : never;
}[keyof Options];

type OptionsOf<Call extends (...args: never[]) => unknown, At extends number> = NonNullable<Parameters<Call>[At]>;

test("every option of the public types may be undefined", () => {
  expectTypeOf<Exact<millrace.EnqueueOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.JobInput>>().toBeNever();
  expectTypeOf<Exact<millrace.JobDefinitionInput<millrace.StandardSchemaV1>>>().toBeNever();
  expectTypeOf<Exact<millrace.DefinedJob<string | undefined>>>().toBeNever();
  expectTypeOf<Exact<millrace.ConnectOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.ListJobs>>().toBeNever();
  expectTypeOf<Exact<millrace.QueueOptions>>().toBeNever();
  expectTypeOf<Exact<NonNullable<millrace.QueueOptions["retention"]>>>().toBeNever();
  expectTypeOf<Exact<millrace.LimitOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.KeyLimitOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.OneKeyLimitOptions>>().toBeNever();
  expectTypeOf<Exact<OptionsOf<millrace.Client["limits"]["list"], 1>>>().toBeNever();
  expectTypeOf<Exact<OptionsOf<millrace.Client["limits"]["use"], 1>>>().toBeNever();
  expectTypeOf<Exact<Extract<millrace.ScheduleInput, { cron: string; type: string }>>>().toBeNever();
  expectTypeOf<Exact<Extract<millrace.ScheduleInput, { cron: string; job: object }>>>().toBeNever();
  expectTypeOf<Exact<millrace.WorkOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.StopOnSignalsOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.Report>>().toBeNever();
  expectTypeOf<Exact<OptionsOf<millrace.Client["logs"], 1>>>().toBeNever();
  expectTypeOf<Exact<OptionsOf<millrace.Client["wait"], 1>>>().toBeNever();
  expectTypeOf<Exact<OptionsOf<millrace.Client["retry"], 1>>>().toBeNever();
  expectTypeOf<Exact<OptionsOf<millrace.Client["events"], 0>>>().toBeNever();
  expectTypeOf<Exact<OptionsOf<millrace.Client["close"], 0>>>().toBeNever();
  expectTypeOf<Exact<OptionsOf<millrace.WorkerHandle["stop"], 0>>>().toBeNever();
  expectTypeOf<Exact<testing.TestClientOptions>>().toBeNever();
  expectTypeOf<Exact<testing.EnqueuedFilter>>().toBeNever();
  expectTypeOf<Exact<testing.DrainOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.WaitForOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.CallOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.SignalOptions>>().toBeNever();
  expectTypeOf<Exact<millrace.SignalUrlOptions>>().toBeNever();
});

test("and the compiler says so with the setting that tells the two apart", { timeout: 300_000 }, () => {
  const root = path.resolve(import.meta.dirname, "../..");
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  const compile = [tsc, "--noEmit", "--checkers", "1", "-p", path.join(import.meta.dirname, "tsconfig.json")];
  let output = "";
  try {
    execFileSync(process.execPath, compile, { cwd: root, encoding: "utf8" });
  } catch (error) {
    output = (error as { stdout: string }).stdout;
  }
  // Errors inside our sources are no user's concern: the package is read as declarations.
  expect(output.split("\n").filter((line) => line.startsWith("test/"))).toEqual([]);
});
