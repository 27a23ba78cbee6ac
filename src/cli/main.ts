#!/usr/bin/env node
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { processTerminal } from "./terminal.ts";

refuseOldNode();
keepCompiledCode();
quietExpectedWarnings();

// A reader that has seen enough (`millrace list | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const { run } = await import("./run.ts");
process.exitCode = await run(processTerminal());

/** Before anything is loaded that an older Node does not have: its own words would not say what is missing. */
function refuseOldNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return;
  process.stderr.write(`millrace needs Node 22.18 or later; this is ${process.version}\n`);
  process.exit(2);
}

/**
 * The second start finds compiled code; to compile it is much of what a short command costs. It is kept in the user's own cache, because in
 * the shared temporary folder, where Node would put it, another user could leave code for us. Where there is no such place it does without.
 */
function keepCompiledCode(): void {
  const { NODE_COMPILE_CACHE, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  module.enableCompileCache(NODE_COMPILE_CACHE ?? join(XDG_CACHE_HOME ?? LOCALAPPDATA ?? join(homedir(), ".cache"), "millrace"));
}

/** Node 22 warns of node:sqlite and of types in handler modules. Both are our choice, and users of the CLI already know. */
function quietExpectedWarnings(): void {
  const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
  process.emitWarning = (warning: unknown, ...rest: unknown[]): void => {
    const isExpected = rest[0] === "ExperimentalWarning" && /SQLite|Type Stripping/i.test(String(warning));
    if (!isExpected) emitWarning(warning, ...rest);
  };
}
