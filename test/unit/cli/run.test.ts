import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMANDS, isGroup } from "../../../src/cli/commands.ts";
import { buildProgram, type Call } from "../../../src/cli/program.ts";
import { EXIT, exitCodeOf } from "../../../src/cli/exit-codes.ts";
import { ERROR_CODES, MillraceError } from "../../../src/core/errors.ts";
import { fakeTerminal, folderOfOwn, typeCommand } from "./type-command.ts";

describe("what was typed", () => {
  test.each([
    ["nothing shows the help", [], 2, "", /^Usage: millrace /],
    ["--help", ["--help"], 0, /^Usage: millrace [\s\S]*Jobs:\n {2}enqueue /, ""],
    ["help of a command", ["help", "list"], 0, /^Usage: millrace list [\s\S]*Examples:[\s\S]*Options:/, ""],
    ["help of a command with verbs", ["schedules", "--help"], 0, /^Usage: millrace schedules [\s\S]*\n {2}create /, ""],
    ["help of a verb", ["schedules", "create", "--help"], 0, /--time-zone <zone>/, ""],
    ["--version", ["--version"], 0, /^\d+\.\d+\.\d+/, ""],
    ["a command that is none", ["lst"], 2, "", "millrace: unknown command 'lst' (Did you mean list?)\n"],
    ["a verb that is none", ["schedules", "creat"], 2, "", "millrace: unknown command 'creat' (Did you mean create?)\n"],
    ["an option that is none", ["list", "--stats", "dead"], 2, "", "millrace: unknown option '--stats' (Did you mean --status?)\n"],
    [
      "an option of another queue",
      ["enqueue", "a", "--attempts", "3"],
      2,
      "",
      "millrace: unknown option '--attempts' (Did you mean --max-retries?)\n",
    ],
    [
      "an event that is none",
      ["tail", "--event", "job:fail"],
      2,
      "",
      /^millrace: --event job:fail: there is no such event; did you mean job:failed\? \(events: job:created, /,
    ],
    ["a secret, which has no option", ["server", "--apiKey", "s3cret"], 2, "", /^millrace: unknown option '--apiKey'/],
    ["an option without its value", ["list", "--status"], 2, "", "millrace: option '--status <status>' argument missing\n"],
    ["an argument without its value", ["status"], 2, "", "millrace: missing required argument 'id'\n"],
    ["too many arguments", ["stats", "now"], 2, "", /^millrace: too many arguments/],
    [
      "the same for programs",
      ["lst", "--json"],
      2,
      "",
      `{"error":{"code":"invalid_input","message":"unknown command 'lst' (Did you mean list?)","field":null,"exit_code":2}}\n`,
    ],
    ["a URL that is none", ["list", "--url", "jobs.db"], 2, "", /^millrace: --url must be the URL of a store/],
    ["a file of variables that is not there", ["list", "--env-file", "gone"], 2, "", "millrace: --env-file gone: there is no such file\n"],
    [
      "a shell without completion",
      ["completion", "tcsh"],
      2,
      "",
      "millrace: there is no completion for tcsh: choose one of bash, zsh, fish\n",
    ],
    ["a worker without handlers", ["worker"], 2, "", "millrace: --handlers is required: name a module, such as --handlers ./jobs.ts\n"],
    [
      "a worker with handlers that are not there",
      ["worker", "--handlers", "gone.ts"],
      2,
      "",
      "millrace: --handlers gone.ts: there is no such file\n",
    ],
    ["an interval that is none", ["top", "--once", "--interval", "often"], 2, "", /^millrace: --interval must be a time/],
    ["a limit that is none", ["list", "--limit", "0"], 2, "", /^millrace: --limit must be a whole number from 1/],
    ["an order that is none", ["list", "--url", "memory:", "--sort", "size"], 2, "", /^millrace: --sort must be one of created, state/],
  ] as const)("%s", async (_name, args, code, stdout, stderr) => {
    const ended = await typeCommand(args);
    expect(ended).toEqual({
      code,
      stdout: typeof stdout === "string" ? stdout : (expect.stringMatching(stdout) as string),
      stderr: typeof stderr === "string" ? stderr : (expect.stringMatching(stderr) as string),
    });
  });

  test("list comes in the order of a status, or newest created first if one asks for it", async () => {
    const cwd = folderOfOwn();
    const type = async (...args: string[]): Promise<string[]> =>
      (await typeCommand([...args, "--url", "sqlite:here.db"], { cwd })).stdout.split("\n").filter((line) => line !== "");
    for (const delay of ["2h", "1h", "3h"]) await type("enqueue", "--type", `in:${delay}`, "--delay", delay);
    const types = async (...args: string[]): Promise<string[]> =>
      (await type("list", "--json", ...args)).map((line) => (JSON.parse(line) as { type: string }).type);
    expect(await types("--status", "scheduled")).toEqual(["in:1h", "in:2h", "in:3h"]);
    expect(await types("--status", "scheduled", "--sort", "created")).toEqual(["in:3h", "in:1h", "in:2h"]);
    expect(await types()).toEqual(["in:3h", "in:1h", "in:2h"]);
    expect(await types("--ended-from", "1h")).toEqual([]);
  });

  test("global options may stand before and after the command", async () => {
    const cwd = folderOfOwn();
    for (const args of [
      ["--url", "sqlite:here.db", "enqueue", "a", "--quiet"],
      ["enqueue", "a", "--quiet", "--url", "sqlite:here.db"],
    ])
      expect((await typeCommand(args, { cwd })).code).toBe(0);
    const { stdout } = await typeCommand(["--json", "list", "--url", "sqlite:here.db"], { cwd });
    expect(stdout.trim().split("\n")).toHaveLength(2);
  });

  test("--debug shows where an error came from", async () => {
    const { stderr } = await typeCommand(["status", "nonsense", "--url", "memory:", "--debug"]);
    expect(stderr).toMatch(/^millrace: id must be .*\nMillraceError: id must be .*\n +at /);
  });
});

describe("every example of the help", () => {
  test("is understood", async () => {
    for (const { load, name } of COMMANDS) {
      const command = await load();
      const examples = isGroup(command)
        ? [...command.examples, ...Object.values(command.commands).flatMap((verb) => verb.examples)]
        : command.examples;
      expect(examples.length).toBeGreaterThan(0);
      const called = await Promise.all(examples.map(async (example) => ({ example, command: await understood(example) })));
      expect(called.filter(({ command }) => command !== name && command !== "list")).toEqual([]);
    }
  });

  /** The name of the command that the part of a shell line which is ours calls. */
  async function understood(line: string): Promise<string> {
    const [own = ""] = /millrace [^|)]*/.exec(line) ?? [];
    const words = [...own.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, plain]) => single ?? double ?? plain ?? "");
    const calls: Call[] = [];
    const { program, args } = await buildProgram(fakeTerminal(words.slice(1), {}), (call) => calls.push(call));
    program.parse(args, { from: "user" });
    return calls.length === 1 ? words[1]! : "";
  }
});

describe("exit codes", () => {
  test("every code of an error has one, and scripts can rely on it", () => {
    expect(Object.fromEntries(ERROR_CODES.map((code) => [code, exitCodeOf(new MillraceError(code, ""))]))).toEqual({
      invalid_input: 2,
      invalid_cursor: 2,
      unknown_type: 2,
      invalid_transaction: 2,
      not_found: 3,
      unauthorized: 4,
      forbidden: 4,
      key_conflict: 5,
      schedule_exists: 5,
      wrong_status: 5,
      stale_lease: 5,
      queue_full: 6,
      rate_limited: 6,
      wait_timeout: 7,
      store_unavailable: 1,
      store_full: 1,
      unsupported_store: 1,
      closed: 1,
    });
    expect(exitCodeOf(new TypeError("oh"))).toBe(EXIT.failure);
  });
});

describe("colours", () => {
  test.each([
    ["not where a program reads", { isTTY: false }, [], false],
    ["on a terminal", { isTTY: true }, [], true],
    ["NO_COLOR", { isTTY: true, env: { NO_COLOR: "1" } }, [], false],
    ["an empty NO_COLOR says nothing", { isTTY: true, env: { NO_COLOR: "" } }, [], true],
    ["FORCE_COLOR", { isTTY: false, env: { FORCE_COLOR: "1" } }, [], true],
    ["FORCE_COLOR=0", { isTTY: true, env: { FORCE_COLOR: "0" } }, [], false],
    ["a terminal that knows none", { isTTY: true, env: { TERM: "dumb" } }, [], false],
    ["--no-color", { isTTY: true, env: { FORCE_COLOR: "1" } }, ["--no-color"], false],
    ["--color", { isTTY: false, env: { NO_COLOR: "1" } }, ["--color"], true],
  ] as const)("%s", async (_name, around, flags, isColoured) => {
    const { stdout } = await typeCommand(["stats", "--url", "memory:", ...flags], around);
    expect(stdout.includes("\u001b[")).toBe(isColoured);
  });
});

describe("what users stored", () => {
  const hostile = "\u001b[2J\u009b31m\u202ea\u2066b";

  test("never reaches the terminal as it is", async () => {
    const cwd = folderOfOwn();
    const payload = JSON.stringify({ text: hostile });
    const args = ["--payload", payload, "--tag", hostile, "--key", hostile, "--meta", payload];
    const { stdout: id } = await typeCommand(["enqueue", "--type", "a", ...args], { cwd });
    await typeCommand(["schedules", "create", "s", "--every", "1h", "--type", "a", ...args.slice(0, 4)], { cwd });
    for (const command of [
      ["status", id.trim()],
      ["status", id.trim(), "--json"],
      ["list", "--json"],
      ["list"],
      ["schedules", "show", "s"],
      ["schedules", "--json"],
    ]) {
      const { stdout, stderr } = await typeCommand(command, { cwd });
      expect(`${command.join(" ")}\n${stdout}${stderr}`).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      if (command.at(-1) === "--json") expect(stdout).toContain("\\u001b[2J");
    }
  });

  test("nor does what was typed", async () => {
    const { stderr } = await typeCommand(["list", "--type", hostile, "--url", "memory:"]);
    expect(stderr).not.toMatch(/[\u001b\u009b\u202e]/);
  });
});

describe("settings", () => {
  test("a file in the folder counts", async () => {
    const cwd = folderOfOwn();
    writeFileSync(join(cwd, "millrace.config.json"), `{"url":"sqlite:ours.db","jobDefaultTimeout":"7m"}`);
    const { stdout } = await typeCommand(["enqueue", "a", "--json"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ timeout: 420_000 });
    expect((await typeCommand(["list", "--ids", "--url", "sqlite:ours.db"], { cwd })).stdout).toMatch(/^\S+\n$/);
  });

  test("a file of variables counts where the environment says nothing", async () => {
    const cwd = folderOfOwn();
    writeFileSync(join(cwd, ".env"), "JOB_DEFAULT_MAX_RETRIES=9\nJOB_DEFAULT_TIMEOUT=9s\n");
    const { stdout } = await typeCommand(["enqueue", "a", "--json", "--env-file", ".env"], { cwd, env: { JOB_DEFAULT_TIMEOUT: "8s" } });
    expect(JSON.parse(stdout)).toMatchObject({ max_retries: 9, timeout: 8000 });
  });

  test("a wrong one that is needed stops the command", async () => {
    const { code, stderr } = await typeCommand(["enqueue", "a"], { env: { JOB_DEFAULT_TIMEOUT: "soon" } });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/^millrace: JOB_DEFAULT_TIMEOUT must be a time .*; got "soon"\n$/) as string,
    });
  });

  test("one that is not needed does not", async () => {
    expect((await typeCommand(["list", "--url", "memory:"], { env: { PORT: "wrong" } })).code).toBe(0);
  });
});

describe("a question before something is lost", () => {
  test.each([
    ["y\n", 0, "purged 0 dead jobs\n"],
    ["yes\n", 0, "purged 0 dead jobs\n"],
    ["n\n", 2, ""],
    ["\n", 2, ""],
  ])("answered %j", async (input, code, stdout) => {
    const ended = await typeCommand(["purge-dead", "--url", "memory:", "--no-color"], { isTTY: true, input });
    expect(ended).toMatchObject({ code, stdout });
    expect(ended.stderr).toContain("Delete 0 dead jobs for good? [y/N]");
  });
});
