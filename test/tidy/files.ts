// The tree as the checks see it: path from the root -> text. They take it as an argument, so that a test can hand them a bad one.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

export type Files = ReadonlyMap<string, string>;

const notOurs = new Set(["node_modules", "dist", "coverage", ".git"]);

/** Everything that is, or is about to be, part of the repository. */
export function readTree(root: string): Files {
  const paths = existsSync(path.join(root, ".git")) ? listWithGit(root) : listByWalking(root);
  return new Map(paths.map((file) => [file, readFileSync(path.join(root, file), "utf8")]));
}

export function sourceFiles(files: Files): string[] {
  return [...files.keys()].filter((file) => /^src\/.*\.tsx?$/.test(file));
}

function listWithGit(root: string): string[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  // A file that was removed but not yet committed as removed is still listed, and a submodule or a link to a folder is no file.
  return [...new Set(listed.split("\0"))].filter((file) => file !== "" && isFile(path.join(root, file)));
}

/** An unpacked archive has no git to ask. */
function listByWalking(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll(path.sep, "/"))
    .filter((file) => !file.split("/").some((part) => notOurs.has(part)) && isFile(path.join(root, file)));
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
