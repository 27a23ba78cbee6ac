import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { Discard } from "../../../src/core/control-errors.ts";
import { launchBrowser, type PageOptions, Profile } from "./browser.ts";
import { type DashboardOptions, type OpenDashboard, openDashboard } from "./open-dashboard.ts";

/** Everything that a test of the page needs. */
export interface Scene extends OpenDashboard {
  /** Opens a page of the dashboard, such as `jobs?status=dead`. */
  readonly visit: (address?: string, options?: PageOptions) => Promise<Page>;
}

/** How long a fact on the page may take. It is there in milliseconds; a busy machine may take its time. */
const FACT_MS = 15_000;

/** A refusal, and a server that is away, are told by the browser as well. Everything else that it says is a fault of the page. */
const WHAT_A_SERVER_SAYS = /status of 4(01|04|09|22)|ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)/;

/** And this of a server whose store is away. */
const WHAT_IT_SAYS_WITHOUT_STORE = /status of 503/;

export interface SceneOptions extends Partial<DashboardOptions> {
  /** The test takes the store away. */
  readonly losesStore?: boolean;
}

/** One browser for the tests of a file; for each test a server and a store of its own, on the same port: so the page is in the browser's cache. */
export function stage(): (options?: SceneOptions) => Promise<Scene> {
  let browser: Browser;
  let profile: Profile;
  let port = 0;
  beforeAll(async () => {
    browser = await launchBrowser();
    profile = await Profile.open(browser);
  });
  afterAll(() => browser.close());

  return async ({ losesStore = false, ...options } = {}) => {
    const isExpected = (text: string): boolean => WHAT_A_SERVER_SAYS.test(text) || (losesStore && WHAT_IT_SAYS_WITHOUT_STORE.test(text));
    const folder = mkdtempSync(path.join(tmpdir(), "millrace-dashboard-"));
    const dashboard = await openDashboard({ storeUrl: `sqlite:${path.join(folder, "jobs.db")}`, port, ...options });
    port = Number(new URL(dashboard.url).port);
    let visits = 0;
    onTestFinished(async () => {
      await dashboard.close();
      rmSync(folder, { recursive: true, force: true });
    });
    return {
      ...dashboard,
      async visit(address = "", pageOptions = {}) {
        const { page, complaints, close } = await profile.openPage(dashboard.url + address, pageOptions, visits++ === 0);
        page.setDefaultTimeout(FACT_MS);
        onTestFinished(async () => {
          await close();
          expect(complaints.filter((text) => !isExpected(text))).toEqual([]);
        });
        return page;
      },
    };
  };
}

/** Waits for a fact of the store. */
export function eventually<Value>(look: () => Promise<Value> | Value): ReturnType<typeof expect.poll<Value>> {
  return expect.poll(look, { timeout: FACT_MS, interval: 50 });
}

/** Lets every waiting job of this type in this queue die with this error; `*~webhooks` are all queues of deliveries. */
export async function letDie(client: Client, type: string, reason: string, queue = "default"): Promise<void> {
  const { jobs } = await client.list({ internal: true, type, queue: queue.startsWith("*") ? undefined : queue, status: "pending" });
  const handler = (): never => {
    throw new Discard(reason);
  };
  await using _worker = client.work({ [type]: handler }, { queues: [queue] });
  await Promise.all(jobs.map(({ id }) => client.wait(id)));
}
