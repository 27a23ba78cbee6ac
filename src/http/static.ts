/**
 * THE DASHBOARD'S PAGE: its built files, below `/dashboard`, wherever the server is mounted. The page holds no data and no secret: whoever
 * opens it is asked for a name by the routes that it calls.
 *
 * Everything in the page is found from its <base>, which is written into it as the way back from the address that was asked for: so it holds
 * under any path, also behind a proxy that took a part of it off.
 */
import path from "node:path";
import { MillraceError } from "../core/errors.ts";
import type { Answer, Call } from "./call.ts";
import { madePage, type PageFile, readPageFiles, sendFile, textOf } from "./page-files.ts";
import { WireError } from "./problem.ts";

/** Where the page is, below the server's own mount. */
export const PAGE_MOUNT = "/dashboard";

const INDEX = "index.html";
const BASE = '<base href="./" />';
/** The first steps of addresses that the page itself knows. Any other is shown by it as one that leads nowhere. */
const PAGES: ReadonlySet<string> = new Set(["queues", "jobs", "dead", "schedules", "workers"]);
/** Jobs by their id are the deepest. */
const MAX_STEPS = 8;

type Files = ReadonlyMap<string, PageFile>;

/** The page of a server. */
export class StaticPage {
  readonly #folder: string;
  #files: Promise<Files> | null = null;
  /** The page as it is sent from each depth. */
  readonly #pages = new Map<number, PageFile>();

  constructor(folder: string = builtFolder()) {
    this.#folder = folder;
  }

  /** Answers a call for what stands after `…/dashboard`: nothing, or a path with its slash. */
  async answer(below: string, call: Call): Promise<Answer> {
    // Relative, so that it holds behind a proxy that took a part of the path off.
    if (below === "") return { status: 308, headers: { Location: `${PAGE_MOUNT.slice(1)}/`, "Cache-Control": "no-cache" }, body: null };
    const files = await this.#read();
    const asked = below.slice(1);
    const steps = asked.split("/");
    const file = asked === INDEX ? undefined : files.get(asked);
    if (file !== undefined) return sendFile(file, call);
    const isPage = asked === "" || PAGES.has(steps[0] ?? "");
    if (steps.length > MAX_STEPS || !(isPage || wantsPage(call))) throw new WireError("unknown_route", "the dashboard has no such file");
    const page = sendFile(this.#pageAt(files, steps.length - 1), call);
    return isPage || page.status !== 200 ? page : { ...page, status: 404 };
  }

  #pageAt(files: Files, depth: number): PageFile {
    const wayBack = `<base href="${"../".repeat(depth) || "./"}" />`;
    const made = this.#pages.get(depth) ?? madePage(textOf(files.get(INDEX)!).replace(BASE, wayBack));
    this.#pages.set(depth, made);
    return made;
  }

  async #read(): Promise<Files> {
    this.#files ??= readPageFiles(this.#folder);
    try {
      const files = await this.#files;
      if (files.has(INDEX)) return files;
    } catch {
      // Said below, to whoever looks: the folder is ours, and its name would tell a caller nothing.
    }
    // It may be built while the server runs.
    this.#files = null;
    throw new MillraceError("not_found", "the dashboard was not built: `npm run build` does it");
  }
}

/** A browser that was led to an address, in contrast to a script or style that is missing. */
function wantsPage(call: Call): boolean {
  return call.header("accept")?.includes("text/html") === true;
}

/** In the package the page lies beside the compiled server; run from its sources, where the build puts it. */
function builtFolder(): string {
  const outside = import.meta.url.endsWith(".ts") ? ["..", "..", "dist"] : [".."];
  return path.join(import.meta.dirname, ...outside, "dashboard");
}
