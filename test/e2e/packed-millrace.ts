import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);

/** What a package is not made from, and what must not be copied: the packages are linked. */
const LEFT_OUT = ["node_modules", "dist", ".git", "test", "bench", "millrace.db"];

/**
 * Packs as a release does, build and all, and gives the path of the tarball. It happens on a copy of the sources, because a build begins by
 * removing what another test may be serving.
 */
export async function packMillrace(folder: string): Promise<string> {
  const copy = join(folder, "sources");
  mkdirSync(copy);
  for (const name of readdirSync(root)) if (!LEFT_OUT.includes(name)) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  // A test runner says NODE_ENV=test, and then the page would be built for developers.
  const env = { ...process.env, NODE_ENV: "production" };
  // No set-up: it would install into the packages that are linked here.
  await run("npm", ["run", "--silent", "--ignore-scripts", "build"], { cwd: copy, env });
  // MILLRACE_SET_UP: it is built.
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder, "--loglevel=error"], {
    cwd: copy,
    env: { ...env, MILLRACE_SET_UP: "1" },
  });
  return join(folder, fileNameIn(stdout));
}

/** The build may talk before npm does; what npm says is a list, or an object by package, whichever it is today. */
function fileNameIn(said: string): string {
  const name = /"filename":\s*"([^"]+\.tgz)"/.exec(said)?.[1];
  if (name === undefined) throw new Error(`npm pack named no file:\n${said}`);
  return name.replace(/^@/, "").replaceAll("/", "-");
}

/**
 * Installs the tarball into an empty project, as a user does, and gives what npm said to them. The cache is asked first: this project's own install
 * has filled it.
 */
export async function installMillrace(tarball: string, folder: string): Promise<string> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "a-new-project", private: true, type: "module" }));
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund"];
  const { stderr } = await run("npm", ["install", ...quiet, tarball], { cwd: folder, env: { ...process.env, NODE_ENV: "production" } });
  return stderr;
}
