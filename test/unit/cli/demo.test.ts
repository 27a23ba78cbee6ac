import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { folderOfOwn, typeCommand } from "./type-command.ts";

describe("the demo", () => {
  test("shows seeds, a key used twice, a flood, and how it drains", async () => {
    const cwd = folderOfOwn();
    const { code, stdout } = await typeCommand(["demo"], { cwd, env: { MILLRACE_URL: "sqlite:must-not-be-made.db" } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^1\. 15 jobs of random priority: /);
    expect(stdout).toMatch(/^2\. a second enqueue with the same key returns the same job: true$/m);
    expect(stdout).toMatch(/^3\. 150 more jobs at once: 84 are accepted, 66 refused$/m);
    expect(stdout).toMatch(/^ +100 waiting +0 retrying +0 running +0 completed +0 retried +0 dead$/m);
    expect(stdout).toMatch(/^ +0 waiting +0 retrying +0 running +95 completed +22 retried +5 dead$/m);
    expect(stdout).toMatch(/^5\. done: 5 dead letters stay until you act$/m);
    // It is not for the store that others live from.
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("uses the store that is named by --url, and can be shown again there", async () => {
    const cwd = folderOfOwn();
    for (const _time of ["first", "second"]) {
      const { code, stdout } = await typeCommand(["demo", "--url", "sqlite:demo.db", "--json"], { cwd });
      const steps = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { step: string; completed?: number });
      expect(code).toBe(0);
      expect(steps.findLast(({ step }) => step === "drain")).toMatchObject({ waiting: 0, running: 0, completed: 95, dead: 5 });
    }
  });
});
