// The command line in a real terminal: tmux is one that a test can type into and look at.

import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { CLI, plainEnvironment } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

class Pane {
  readonly #server = `millrace-${randomUUID().slice(0, 8)}`;

  constructor(command: readonly string[], { cwd, width, height }: { cwd: string; width: number; height: number }) {
    const line = `${command.map((word) => `'${word}'`).join(" ")}; echo "ended with $?"; cat`;
    const env = Object.entries(plainEnvironment({ LANG: "C.UTF-8" })).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    this.#tmux("-f", "/dev/null", "new-session", "-d", "-x", String(width), "-y", String(height), "-c", cwd, ...env, "sh", "-c", line);
    onTestFinished(() => void spawnSync("tmux", ["-L", this.#server, "kill-server"]));
  }

  type(key: string): void {
    this.#tmux("send-keys", key);
  }

  resize(width: number, height: number): void {
    this.#tmux("resize-window", "-x", String(width), "-y", String(height));
  }

  get text(): string {
    return this.#tmux("capture-pane", "-p");
  }

  /** The screen, once it shows this. The time limit of the test is what ends the wait for something that never comes. */
  async shows(pattern: RegExp): Promise<string> {
    for (;;) {
      const { text } = this;
      if (pattern.test(text)) return text;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  #tmux(...args: string[]): string {
    return execFileSync("tmux", ["-u", "-L", this.#server, ...args], { encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } });
  }
}

// Where tmux is not installed there is no terminal to try it in.
describe.skipIf(!hasTmux)("top in a terminal", () => {
  test("shows what happens, fits a new size, and leaves the terminal as it was", async () => {
    const cwd = temporaryFolder();
    const client = await connect(`sqlite:${join(cwd, "millrace.db")}`);
    onTestFinished(() => client.close({ grace: 0 }));
    const pane = new Pane([process.execPath, ...CLI, "top", "--interval", "100ms"], { cwd, width: 110, height: 30 });
    await pane.shows(/millrace top .*sqlite:millrace\.db \(default\) .*q quits/);
    await pane.shows(/no queues/);

    client.work({
      fine: () => null,
      broken: () => {
        throw new Error("the printer is on fire");
      },
    });
    for (const type of ["fine", "fine", "broken", "broken"]) await client.enqueue(type, null, { maxRetries: 0 });
    await pane.shows(/^done 2 .*failed 2 .*dead 2 .*workers 1/m);
    await pane.shows(/^ +2x .*broken +the printer is on fire/m);
    expect(pane.text).toMatch(/^default +0 +0 +0 +0 +0 +2 +2$/m);

    pane.resize(50, 14);
    const small = await pane.shows(/^millrace top.*$\n^done 2/m);
    expect(Math.max(...small.split("\n").map((line) => line.length))).toBeLessThanOrEqual(50);
    pane.resize(110, 30);
    await pane.shows(/^ +2x .*the printer is on fire/m);

    pane.type("p");
    await pane.shows(/paused; p resumes/);
    await client.enqueue("nobody");
    pane.type("p");
    await pane.shows(/^default +1 /m);

    pane.type("q");
    const end = await pane.shows(/ended with 0/);
    // The screen from before is back, and the keyboard echoes again.
    expect(end).not.toContain("millrace top");
    pane.type("echo");
    await pane.shows(/ended with 0\s+echo/);
  });

  test("ends with 130 at Ctrl-C", async () => {
    const pane = new Pane([process.execPath, ...CLI, "top", "--url", "memory:"], { cwd: temporaryFolder(), width: 80, height: 24 });
    await pane.shows(/millrace top/);
    pane.type("C-c");
    await pane.shows(/ended with 130/);
  });
});

// The same terminal, for a command that asks.
describe.skipIf(!hasTmux)("a question in a terminal", () => {
  test.each([
    ["y, then Enter", ["y", "Enter"], /purged 0 dead jobs\s+ended with 0/],
    ["Enter alone", ["Enter"], /millrace: nothing was changed\s+ended with 2/],
    ["Ctrl-D", ["C-d"], /millrace: nothing was changed\s+ended with 2/],
    ["Ctrl-C", ["C-c"], /millrace: interrupted: nothing was changed\s+ended with 130/],
  ])("answered by %s", async (_name, keys, end) => {
    const pane = new Pane([process.execPath, ...CLI, "purge-dead"], { cwd: temporaryFolder(), width: 80, height: 24 });
    await pane.shows(/Delete 0 dead jobs for good\? \[y\/N\]/);
    for (const key of keys) pane.type(key);
    await pane.shows(end);
  });
});
