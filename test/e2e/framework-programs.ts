import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { codeBlocks } from "./code-blocks.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The page whose blocks are whole programs, which never end by themselves: these files run them. */
export const FRAMEWORKS_PAGE = "docs/frameworks.md";

/** Every block of the page, with the file that its first line names. */
export const frameworkFiles = codeBlocks(readFileSync(join(root, FRAMEWORKS_PAGE), "utf8"), "ts").map(({ code }) => ({
  file: /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? "",
  code,
}));

/** Writes them into a folder, as in a project of one's own: what a program imports is found beside it. */
export function writeFrameworkPrograms(folder: string, millrace: string): void {
  const packages = join(folder, "node_modules");
  mkdirSync(packages);
  symlinkSync(millrace, join(packages, "millrace"));
  for (const source of [join(root, "test/frameworks/node_modules"), join(root, "node_modules")]) linkAll(source, packages);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  for (const { file, code } of frameworkFiles) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), code);
  }
}

/** What every NestJS project says to its compiler: Node cannot strip decorators. */
export const NEST_SETTINGS = { experimentalDecorators: true, emitDecoratorMetadata: true };

/** Makes JavaScript of the programs for NestJS, beside them. package.test.ts checks their types. */
export async function compileNestPrograms(folder: string): Promise<void> {
  const settings = {
    compilerOptions: { ...NEST_SETTINGS, module: "nodenext", target: "es2024", types: [], rewriteRelativeImportExtensions: true, noCheck: true, noResolve: true }, // oxfmt-ignore
    files: frameworkFiles.map(({ file }) => file).filter((file) => /^(nest\/|sign-in)/.test(file)),
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  await promisify(execFile)(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder, "--checkers", "1"]);
}

/** Links packages that are not there yet; a folder such as `@types` may come from several places. */
function linkAll(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from).filter((entry) => !entry.startsWith("."))) {
    if (name.startsWith("@")) linkAll(join(from, name), join(to, name));
    else if (!existsSync(join(to, name))) symlinkSync(join(from, name), join(to, name));
  }
}
