/**
 * The module of handlers that a worker is given: what it exports by default is what `client.work` takes. It may also export an `example`, a
 * job to try it with, which `start` tells of.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Handlers } from "../client/client.ts";
import { typesOf } from "../client/handler-types.ts";
import { CommandRefused, EXIT } from "./exit-codes.ts";

/** Loads the module. A path is what was given at the start and nothing else: no type of a job ever becomes one. */
export async function loadHandlers(file: string, folder: string): Promise<Handlers> {
  const path = resolve(folder, file);
  if (!existsSync(path)) throw new CommandRefused(`--handlers ${file}: there is no such file`);
  const { default: handlers } = await importModule(path, file);
  const isSome = typeof handlers === "object" && handlers !== null && Object.keys(handlers).length > 0;
  if (!isSome) {
    throw new CommandRefused(
      `--handlers ${file} must export handlers by default: an object of type and handler, or a list of handled definitions`,
    );
  }
  return handlers as Handlers;
}

/** The job to try the module with: its `example`, or else a job of its first type. */
export async function loadExample(file: string, folder: string): Promise<ExampleJob> {
  const { default: handlers, example } = await importModule(resolve(folder, file), file);
  const { type, payload } = (example ?? {}) as Partial<ExampleJob>;
  return typeof type === "string" ? { type, payload } : { type: typesOf(handlers as Handlers)[0]! };
}

/** As it is sent to the server. */
export interface ExampleJob {
  readonly type: string;
  readonly payload?: unknown;
}

async function importModule(path: string, file: string): Promise<{ readonly default?: unknown; readonly example?: unknown }> {
  try {
    return (await import(pathToFileURL(path).href)) as { readonly default?: unknown; readonly example?: unknown };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw Object.assign(new CommandRefused(`--handlers ${file} cannot be loaded: ${reason}`, EXIT.failure), { cause: error });
  }
}
