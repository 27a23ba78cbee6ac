import { existsSync } from "node:fs";
import path from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

/** As scripts/set-up.js looks for them, the fastest first. */
const PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/**
 * Pages of one address share a process: see Profile. The work of the graphics and network processes is little, and is done beside the browser's own.
 * No page lives long enough to earn back what the best of V8's compilers takes.
 */
const ARGS = ["--process-per-site", "--in-process-gpu", "--enable-features=NetworkServiceInProcess2", "--js-flags=--no-opt"];

/** Starts a real Chromium. */
export async function launchBrowser(): Promise<Browser> {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  const found = PROGRAMS.flatMap((name) => folders.map((folder) => path.join(folder, name))).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`no browser was found: install chromium (looked for ${PROGRAMS.join(", ")} in PATH)`);
  // Chromium refuses its sandbox to root; the pages here are our own.
  return chromium.launch({ executablePath: found, args: [...ARGS, ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])] });
}

/** How a page is opened. */
export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: "dark" | "light" | "system";
  /** How many rows a list has. */
  readonly rows?: 25;
}

/** A page, and everything that it complained about. */
export interface OpenedPage {
  readonly page: Page;
  /** Errors on the console, among them each violation of the page's policy, and errors that nobody caught. */
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
}

/**
 * A profile of a browser. What a page has loaded is in its cache: the first page of a fresh profile takes three times as long as the next. And its
 * process has compiled the page's scripts: a tab that stays open keeps that process for the pages that follow.
 */
export class Profile {
  readonly #context: BrowserContext;
  #keeper: Page | null = null;

  private constructor(context: BrowserContext) {
    this.#context = context;
  }

  static async open(browser: Browser): Promise<Profile> {
    const context = await browser.newContext({ reducedMotion: "reduce" });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    return new Profile(context);
  }

  /** Opens a page. With `isFirst` nothing is left of those who were there before but the files that they loaded. */
  async openPage(url: string, { width = 1280, height = 800, theme, rows }: PageOptions = {}, isFirst = true): Promise<OpenedPage> {
    await this.#keepProcess(new URL("/no-such-page", url).href);
    const page = await this.#context.newPage();
    await page.setViewportSize({ width, height });
    if (isFirst) await this.#forget(page, new URL(url).origin);
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    if (theme !== undefined) await page.addInitScript(`localStorage.setItem("millrace:theme", "${theme}")`);
    if (rows !== undefined) await page.addInitScript(`localStorage.setItem("millrace:pageSize", "${rows}")`);
    await page.goto(url);
    return { page, complaints, close: () => page.close() };
  }

  async #keepProcess(address: string): Promise<void> {
    if (this.#keeper !== null) return;
    this.#keeper = await this.#context.newPage();
    await this.#keeper.goto(address);
  }

  async #forget(page: Page, origin: string): Promise<void> {
    await this.#context.clearCookies();
    const session = await this.#context.newCDPSession(page);
    await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "local_storage" });
    await session.detach();
  }
}
