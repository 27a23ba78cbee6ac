#!/usr/bin/env node
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { refuseOldNode } from "../core/node-version.ts";
import { processTerminal } from "./terminal.ts";

checkNode();
keepCompiledCode();
quietExpectedWarnings();

// A reader that stops early (`millrace list | head`) is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const { run } = await import("./run.ts");
process.exitCode = await run(processTerminal());

/** Runs before anything is loaded that an older Node lacks. */
function checkNode(): void {
  try {
    refuseOldNode(process.versions.node);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

/**
 * Keeps compiled code for the next start: compiling is much of what a short command costs. It uses the user's own cache, because another user
 * could put code into the shared temporary folder, which is Node's default. If the folder cannot be used, Node does without a cache.
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
