/**
 * THE DASHBOARD'S PAGE: its built files below `/dashboard`, wherever the server is mounted. The page holds no data and no secret: the routes
 * that it calls ask for a sign-in.
 *
 * The page finds everything by its <base>, which is set to the relative path back from the requested URL. So it works under any path, also
 * behind a proxy that removes a part of it.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { MillraceError } from "../core/errors.ts";
import type { Answer, Call } from "./call.ts";
import { madePage, type PageFile, readPageFiles, sendFile, textOf } from "./page-files.ts";
import { WireError } from "./problem.ts";

/** Where the page is, below the server's own mount. */
export const PAGE_MOUNT = "/dashboard";

const INDEX = "index.html";
const BASE = '<base href="./" />';
/** The first steps of paths that the page handles. For any other, it says that there is no such page. */
const PAGES: ReadonlySet<string> = new Set(["queues", "jobs", "dead", "flows", "operations", "schedules", "workers", "audit"]);
/** Jobs by their id are the deepest. */
const MAX_STEPS = 8;

type Files = ReadonlyMap<string, PageFile>;

/** The page of a server. */
export class StaticPage {
  readonly #folder: string;
  #files: Promise<Files> | null = null;
  /** The page by the way to its files. */
  readonly #pages = new Map<string, PageFile>();

  constructor(folder: string = ownFolder()) {
    this.#folder = folder;
  }

  /** `below` is what follows `…/dashboard` in the path: nothing, or a path with its slash. */
  async answer(below: string, call: Call): Promise<Answer> {
    const files = await this.#read();
    // Not redirected to the path with a slash: Next.js redirects that one back.
    if (below === "") return sendFile(this.#pageAt(files, `${PAGE_MOUNT.slice(1)}/`), call);
    const asked = below.slice(1);
    const steps = asked.split("/");
    const file = asked === INDEX ? undefined : files.get(asked);
    if (file !== undefined) return sendFile(file, call);
    const isPage = asked === "" || PAGES.has(steps[0] ?? "");
    if (steps.length > MAX_STEPS || !(isPage || wantsPage(call))) throw new WireError("unknown_route", "the dashboard has no such file");
    const page = sendFile(this.#pageAt(files, "../".repeat(steps.length - 1) || "./"), call);
    return isPage || page.status !== 200 ? page : { ...page, status: 404 };
  }

  #pageAt(files: Files, base: string): PageFile {
    const made = this.#pages.get(base) ?? madePage(textOf(files.get(INDEX)!).replace(BASE, `<base href="${base}" />`));
    this.#pages.set(base, made);
    return made;
  }

  async #read(): Promise<Files> {
    this.#files ??= readPageFiles(this.#folder);
    try {
      const files = await this.#files;
      if (files.has(INDEX)) return files;
    } catch {
      // Reported below, without the name of the folder: it would not help a caller.
    }
    // It may be built while the server runs.
    this.#files = null;
    throw new MillraceError("not_found", "the dashboard is not built: run `npm run build`");
  }
}

/** Whether a browser navigates here, in contrast to loading a script or style. */
function wantsPage(call: Call): boolean {
  return call.header("accept")?.includes("text/html") === true;
}

/**
 * In the package, the page is beside the compiled server; when run from its sources, it is where the build puts it. A bundler moves the code away
 * from the page, and some bundles have no `dirname`. That is refused at the start, because each request would fail.
 */
function ownFolder(): string {
  const here = import.meta.dirname as string | undefined;
  if (here !== undefined && import.meta.url.endsWith(".ts")) return path.join(here, "..", "..", "dist", "dashboard");
  const folder = path.join(here ?? "", "..", "dashboard");
  if (here === undefined || !existsSync(path.join(folder, INDEX)))
    throw new MillraceError("invalid_input", BUNDLED, { field: "dashboard" });
  return folder;
}

const BUNDLED =
  "the files of the dashboard are not beside the code of the server: it was bundled. Keep millrace out of the bundle " +
  '(Next.js: serverExternalPackages: ["millrace"] in next.config.ts), or set dashboard: { folder } or dashboard: false';
