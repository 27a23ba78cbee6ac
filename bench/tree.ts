import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type * as Library from "../src/index.ts";
import type * as ServerLibrary from "../src/server.ts";

/** A checkout whose code is measured: this one, or the one that `--against` names. */
export interface Tree {
  readonly name: string;
  readonly folder: string;
  readonly connect: typeof Library.connect;
}

export const OUR_FOLDER: string = fileURLToPath(new URL("../", import.meta.url));

/** Loads the library of a checkout. Processes of the bench get the folder as an argument. */
export async function loadTree(folder: string): Promise<Tree> {
  const absolute = resolve(folder);
  const { connect } = (await import(moduleIn(absolute, "src/index.ts"))) as typeof Library;
  return { name: basename(absolute), folder: absolute, connect };
}

export async function loadServer(folder: string): Promise<typeof ServerLibrary> {
  return (await import(moduleIn(folder, "src/server.ts"))) as typeof ServerLibrary;
}

function moduleIn(folder: string, path: string): string {
  return pathToFileURL(join(folder, path)).href;
}
