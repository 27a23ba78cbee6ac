/** The module of `--handlers`: its default export is what `client.work` takes. `start` prints how to enqueue its `example`, if it exports one. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Handlers } from "../client/client.ts";
import { text } from "./command.ts";
import { CommandRefused, EXIT } from "./exit-codes.ts";

/** The option of `start` and `worker`. */
export const HANDLERS = text("<file>", "a module whose default export is what client.work takes: a handler for each type");

/** Loads the module. The path comes from the command line only, never from the type of a job. */
export async function loadHandlers(file: string, folder: string): Promise<{ handlers: Handlers; example: ExampleJob | null }> {
  const path = resolve(folder, file);
  if (!existsSync(path)) throw new CommandRefused(`--handlers ${file}: there is no such file`);
  const { default: handlers, example } = await importModule(path, file);
  const isSome = typeof handlers === "object" && handlers !== null && Object.keys(handlers).length > 0;
  if (!isSome) {
    throw new CommandRefused(
      `--handlers ${file} has no handlers: its default export must be an object with a handler for each type, or a list of definition.handle(…)`,
    );
  }
  const { type, payload } = (example ?? {}) as Partial<ExampleJob>;
  return { handlers: handlers as Handlers, example: typeof type === "string" ? { type, payload } : null };
}

/** The body of the request. */
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
