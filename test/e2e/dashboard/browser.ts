import { existsSync } from "node:fs";
import path from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

/** As scripts/set-up.js looks for them. */
const PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Starts a real Chromium. */
export async function launchBrowser(): Promise<Browser> {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  const found = PROGRAMS.flatMap((name) => folders.map((folder) => path.join(folder, name))).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`no browser was found: install chromium (looked for ${PROGRAMS.join(", ")} in PATH)`);
  // Chromium refuses its sandbox to root; the pages here are our own.
  return chromium.launch({ executablePath: found, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}

/** How a page is opened. */
export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: "dark" | "light";
  /** How many rows a list has. */
  readonly rows?: 25;
}

/** A page in a fresh profile, and everything that it complained about. */
export interface OpenedPage {
  readonly page: Page;
  /** Errors on the console, among them each violation of the page's policy, and errors that nobody caught. */
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
}

/** Opens a page. What it complains about is gathered, for the test to look at. */
export async function openPage(
  browser: Browser,
  url: string,
  { width = 1280, height = 800, theme, rows }: PageOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  if (theme !== undefined) await page.addInitScript(`localStorage.setItem("millrace:theme", "${theme}")`);
  if (rows !== undefined) await page.addInitScript(`localStorage.setItem("millrace:pageSize", "${rows}")`);
  await page.goto(url);
  return { page, complaints, close: () => context.close() };
}
