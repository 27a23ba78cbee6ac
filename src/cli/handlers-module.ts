/** The module of `--handlers`: its default export is what `client.work` takes, and it may export `backoffs`. `start` prints how to enqueue its `example`, if it exports one. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Handlers, WorkOptions } from "../client/client.ts";
import { text } from "./command.ts";
import { CommandRefused, EXIT } from "./exit-codes.ts";

/** The option of `start` and `worker`. */
export const HANDLERS = text("<file>", "a module whose default export is what client.work takes: a handler for each type");

/** Loads the module. The path comes from the command line only, never from the type of a job. */
export async function loadHandlers(file: string, folder: string): Promise<HandlersModule> {
  const path = resolve(folder, file);
  if (!existsSync(path)) throw new CommandRefused(`--handlers ${file}: there is no such file`);
  const { default: handlers, backoffs, example } = await importModule(path, file);
  const isSome = typeof handlers === "object" && handlers !== null && Object.keys(handlers).length > 0;
  if (!isSome) {
    throw new CommandRefused(
      `--handlers ${file} has no handlers: its default export must be an object with a handler for each type, or a list of definition.handle(…)`,
    );
  }
  const { type, payload } = (example ?? {}) as Partial<ExampleJob>;
  return {
    handlers: handlers as Handlers,
    backoffs: backoffs as WorkOptions["backoffs"],
    example: typeof type === "string" ? { type, payload } : null,
  };
}

export interface HandlersModule {
  readonly handlers: Handlers;
  readonly backoffs: WorkOptions["backoffs"];
  readonly example: ExampleJob | null;
}

/** The body of the request. */
export interface ExampleJob {
  readonly type: string;
  readonly payload?: unknown;
}

async function importModule(path: string, file: string): Promise<Partial<Record<"default" | "backoffs" | "example", unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Awaited<ReturnType<typeof importModule>>;
  } catch (error) {
    throw new CommandRefused(`--handlers ${file} cannot be loaded: ${reasonOf(error)}`, EXIT.failure, stackOf(error));
  }
}

/** Node says this about enums, namespaces and other TypeScript that is more than types. */
const NOT_ONLY_TYPES = "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX";

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("code" in error) || error.code !== NOT_ONLY_TYPES) return error.message;
  return `${error.message}. Node only removes types: write it without enums, namespaces and parameter properties, or compile it to JavaScript first`;
}

/** Where the module failed. From Node's loader on, the stack is not about the module. */
function stackOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const lines = (error.stack ?? "").split("\n").filter((line) => line.trim() !== "");
  const loader = lines.findIndex((line) => /^\s+at .*node:internal\/modules/.test(line));
  return loader === -1 ? lines : lines.slice(0, loader);
}
