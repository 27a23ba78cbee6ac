import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HANDLERS, type Known, type Step, STEPS, WORKING } from "./cli-steps.ts";
import { type Ended, runCli, runCliHere, type RunningCli, startCli } from "./run-cli.ts";

/** A store or server that commands are tried on. */
export interface CliTarget {
  readonly url: string;
  readonly env?: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export interface CliSuiteOptions {
  /** Leave out what is refused before a store is asked: it is the same on all of them. */
  readonly mainPathOnly?: boolean;
  /** Run short commands in this process. Otherwise the first of each kind is a process of its own, which shows that it ends by itself. */
  readonly here?: boolean;
}

/** The same commands with the same answers, whatever the URL names. */
export function cliSuite(name: string, open: () => Promise<CliTarget>, { mainPathOnly = false, here = false }: CliSuiteOptions = {}): void {
  const ranAsProcess = new Set<string>();
  const runCommand: typeof runCli = (args, options) => {
    const kind = args
      .slice(0, 2)
      .filter((word) => /^[a-z][a-z-]*$/.test(word))
      .join(" ");
    if (here || ranAsProcess.has(kind)) return runCliHere(args, options);
    ranAsProcess.add(kind);
    return runCli(args, options);
  };
  describe(`the command line on ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-cli-"));
    const known: Known = {};
    let target: CliTarget;
    let env: Record<string, string>;

    beforeAll(async () => {
      target = await open();
      env = { MILLRACE_URL: target.url, ...target.env };
      writeFileSync(join(folder, "jobs.mjs"), HANDLERS);
      writeFileSync(join(folder, "payload.json"), `{"from":"a file"}`);
    });
    afterAll(async () => {
      await target?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const take = async (step: Step): Promise<void> => {
      const args = typeof step.args === "string" ? step.args : step.args(known);
      // Spaces part arguments here, so a cron is written with `_`.
      const words = args.split(" ").map((word) => (word.startsWith("0_") ? word.replaceAll("_", " ") : word));
      const ended = await runCommand(words, { cwd: folder, env, ...(step.input === undefined ? {} : { input: step.input }) });
      judge(step, ended);
      if (step.as !== undefined) known[step.as] = ended.stdout.trim();
    };

    test.for(STEPS.filter(({ code }) => !mainPathOnly || code !== 2))("$name", take);

    test("list, workers and queues show what is our own only with --internal", async () => {
      const types = async (...args: string[]): Promise<Set<string>> => {
        const { stdout, code } = await runCommand(["list", "--json", ...args], { cwd: folder, env });
        expect(code).toBe(0);
        return new Set(
          stdout
            .split("\n")
            .filter(Boolean)
            .map((line) => (JSON.parse(line) as { type: string }).type),
        );
      };
      expect(await types()).not.toContain("millrace:bulk");
      expect(await types("--internal")).toContain("millrace:bulk");
      expect(await types("--internal", "--type", "millrace:bulk", "--queue", "~bulk")).toEqual(new Set(["millrace:bulk"]));
      const refused = await runCommand(["list", "--type", "millrace:bulk"], { cwd: folder, env });
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("internal") as string });
      expect((await runCommand(["workers", "--internal"], { cwd: folder, env })).code).toBe(0);
      expect((await runCommand(["queues", "list"], { cwd: folder, env })).stdout).not.toContain("~");
      expect((await runCommand(["queues", "list", "--internal"], { cwd: folder, env })).stdout).toMatch(/^~bulk +running /m);
    });

    test("bulk status and stop tell of an operation that has ended", async () => {
      const listed = await runCommand(["bulk", "--json"], { cwd: folder, env });
      const { id } = JSON.parse(listed.stdout.split("\n")[0]!) as { id: string };
      const shown = await runCommand(["bulk", "status", id], { cwd: folder, env });
      expect(shown).toMatchObject({ code: 0, stderr: "" });
      expect(shown.stdout).toMatch(/^id +.*\naction +delete\nfilter +.*\nstatus +completed\nmatched +1\nprocessed +1\n/);
      const stopped = await runCommand(["bulk", "stop", id], { cwd: folder, env });
      expect(stopped).toMatchObject({ code: 5, stdout: "" });
      expect(stopped.stderr).toMatch(/^millrace: bulk operation .* has already ended: it is completed$/m);
    });

    describe("with a worker", () => {
      let worker: RunningCli;
      beforeAll(async () => {
        worker = startCli(["worker", "--handlers", "./jobs.mjs", "--concurrency", "2"], { cwd: folder, env }, true);
        await worker.said("a worker for 3 types");
      });
      afterAll(() => void worker.child.kill("SIGKILL"));

      test.for(WORKING)("$name", take);

      test("a job is suspended until its signal comes, and status says what it waits for", async () => {
        const shown = async (id: string): Promise<{ status: string; result: unknown; steps: { state: string }[] }> =>
          JSON.parse((await runCommand(["status", id, "--json"], { cwd: folder, env })).stdout) as Awaited<ReturnType<typeof shown>>;
        const until = async (id: string, status: string): Promise<Awaited<ReturnType<typeof shown>>> => {
          for (;;) {
            const job = await shown(id);
            if (job.status === status) return job;
          }
        };
        const id = (await runCommand(["enqueue", "onboard"], { cwd: folder, env })).stdout.trim();
        expect((await until(id, "blocked")).steps.map(({ state }) => state)).toEqual(["done", "open"]);
        const { stdout } = await runCommand(["status", id], { cwd: folder, env });
        expect(stdout).toMatch(/^status +blocked\nbecause +waits for the signal approval until \d{4}-/m);
        expect(stdout).toMatch(/^account +step +done +\d+s ago +\{"id":7\}\napproval +wait +open +in (59m|1h) +waits for the signal/m);
        const explained = await runCommand(["explain", id], { cwd: folder, env });
        expect(explained.stdout).toMatch(
          /^waits for signal {2}its handler waits for the signal "approval", until .*, or millrace signal \S+ approval$/m,
        );
        await runCommand(["signal", id, "approval", "--payload", `{"by":"ann"}`], { cwd: folder, env });
        expect(await until(id, "completed")).toMatchObject({ result: { account: { id: 7 }, approval: { by: "ann" } } });
      });

      test("the job that was retried dies again", async () => {
        const broken = await runCommand(["list", "--type", "broken", "--ids"], { cwd: folder, env });
        for (;;) {
          const { stdout } = await runCommand(["status", broken.stdout.trim(), "--json"], { cwd: folder, env });
          if ((JSON.parse(stdout) as { status: string }).status === "dead") return;
        }
      });

      test("tail shows what happens", async () => {
        const tail = startCli(["tail", "--event", "job:completed", "--limit", "1", "--json"], { cwd: folder, env });
        await tail.said("press Ctrl-C to stop");
        // Who listens is known to the others after a moment: news before that are missed, as news may be.
        const enqueued = (): Promise<Ended> => runCommand(["enqueue", "double", `{"n":1}`, "--wait", "--quiet"], { cwd: folder, env });
        const gone = new Promise<void>((resolve) => tail.child.once("exit", () => resolve()));
        while (tail.child.exitCode === null) await Promise.race([gone, enqueued()]);
        const { code, stdout } = await tail.ended;
        expect(code).toBe(0);
        expect(JSON.parse(stdout)).toMatchObject({ event: "job:completed", type: "double", queue: "default" });
      });

      test("the worker stops in good order at SIGTERM", async () => {
        worker.child.kill("SIGTERM");
        const { code, stderr } = await worker.ended;
        expect({ code, stderr }).toEqual({
          code: 0,
          stderr: expect.stringContaining("millrace: stopping; running jobs have 30s to finish") as string,
        });
      });
    });

    test("purge-dead deletes for good", async () => {
      expect(await runCommand(["purge-dead", "--yes"], { cwd: folder, env })).toEqual({
        code: 0,
        stdout: "purged 1 dead job\n",
        stderr: "",
      });
      expect(await runCommand(["list", "--status", "dead", "--ids"], { cwd: folder, env })).toMatchObject({ code: 0, stdout: "" });
    });

    test("a --url counts before the environment", async () => {
      const other = await runCommand(["queues", "--url", "memory:", "--json"], { cwd: folder, env });
      expect(other).toEqual({ code: 0, stdout: "", stderr: "" });
    });
  });
}

function judge(step: Step, { code, stdout, stderr }: Ended): void {
  const lines = stdout === "" ? [] : stdout.replace(/\n$/, "").split("\n");
  const said = stderr.trim();
  // All at once, so that a failure shows all that is known.
  const wanted = {
    code: step.code ?? 0,
    ...(step.lines === undefined ? {} : { lines: step.lines.map((line) => expect.stringMatching(line) as string) }),
    ...(step.json === undefined ? {} : { json: step.json.map((value) => expect.objectContaining(withNested(value)) as object) }),
    talk: step.talk === undefined ? "" : (expect.stringMatching(step.talk) as string),
  };
  const found = {
    code,
    ...(step.lines === undefined ? {} : { lines }),
    ...(step.json === undefined ? {} : { json: lines.map((line) => JSON.parse(line) as object) }),
    talk: said,
  };
  expect(found).toEqual(wanted);
}

/** Objects inside of a value are looked at in the same way: these fields among others. */
function withNested(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([name, each]: [string, unknown]) => {
      if (Array.isArray(each))
        return [name, each.map((item: unknown) => (isPlain(item) ? expect.objectContaining(withNested(item)) : item))];
      return [name, isPlain(each) ? expect.objectContaining(withNested(each)) : each];
    }),
  );
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
