import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * The folder of a package with the code of the real one, without its types and with an empty page, for the tests of a file that start many programs: each starts in a
 * third of the time that it takes from the sources. To make it takes a second. What Node compiles of it is kept beside it, and is gone with it.
 */
export function joinedMillraceOfThisFile(): { readonly millrace: string; readonly compiled: string } {
  const folder = mkdtempSync(join(tmpdir(), "millrace-joined-"));
  const made = join(folder, "millrace");
  beforeAll(() => {
    mkdirSync(made);
    cpSync(join(root, "package.json"), join(made, "package.json"));
    symlinkSync(join(root, "node_modules"), join(made, "node_modules"));
    const vite = [join(root, "node_modules/vite/bin/vite.js"), "build", "--config", "vite.package.config.ts"];
    // A test runner says NODE_ENV=test.
    const env = { ...process.env, NODE_ENV: "production" };
    execFileSync(process.execPath, [...vite, "--outDir", join(made, "dist"), "--logLevel", "warn"], { cwd: root, env });
    mkdirSync(join(made, "dist/dashboard"));
    writeFileSync(join(made, "dist/dashboard/index.html"), "");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return { millrace: made, compiled: join(folder, "compiled") };
}
