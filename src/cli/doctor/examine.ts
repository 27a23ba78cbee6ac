/** The checks of `doctor`. Each has a grade; none changes anything. */
import type { PlainClient } from "../../client/client.ts";
import { SETTING_NAMES } from "../../config.ts";
import { readSetting, showValue, type Source } from "../../config/read-config.ts";
import { isServerUrl } from "../../config/store-url.ts";
import { refuseOldNode } from "../../core/node-version.ts";
import type { StoreFinding, StoreReport } from "../../core/store-report.ts";
import { count, counted } from "../../core/counted.ts";
import { took } from "../figures.ts";
import type { Session } from "../session.ts";
import { packageVersion } from "../version.ts";

/** One result. */
export interface Check extends StoreFinding {
  readonly name: string;
}

/** A setting and its source. An invalid one has no value. */
export interface SettingCheck {
  readonly name: string;
  readonly value: string;
  readonly source: Source | null;
}

/** With a larger difference, ages shown on two machines no longer agree. */
const CLOCK_TOLERANCE_MS = 1000;
const MANY_DEAD = 10_000;
const DEADLINE_MS = 5000;

/** Every setting, and a check for each invalid one. */
export async function examineSettings(session: Session): Promise<{ settings: SettingCheck[]; checks: Check[] }> {
  const sources = await session.sources();
  const settings: SettingCheck[] = [];
  const checks: Check[] = [];
  for (const name of SETTING_NAMES) {
    try {
      const { value, source } = readSetting(name, sources);
      settings.push({ name, value: showValue(name, value), source });
    } catch (error) {
      settings.push({ name, value: "", source: null });
      checks.push(check("setting", "bad", messageOf(error)));
    }
  }
  return { settings, checks };
}

export function examineNode(version: string = process.versions.node): Check {
  try {
    refuseOldNode(version);
    return check("node", "good", `Millrace ${packageVersion()} on Node ${version}`);
  } catch (error) {
    return check("node", "bad", messageOf(error));
  }
}

/** Checks whether a store or server answers, its version, its clock, and its jobs and workers. */
export async function examineStore(url: string, session: Session): Promise<Check[]> {
  try {
    return isServerUrl(url) ? await examineServer(url, session) : await examineOwnStore(url, session);
  } catch (error) {
    return [check("store", "bad", messageOf(error))];
  }
}

async function examineOwnStore(url: string, session: Session): Promise<Check[]> {
  const { inspectStore } = await import("../../store/open-store.ts");
  const since = Date.now();
  const report = await inspectStore(url, { deadlineMs: DEADLINE_MS });
  const until = Date.now();
  const checks: Check[] = [
    check("store", "good", `${report.engine}, checked in ${took(until - since)}`),
    ...report.findings.map((finding) => ({ name: "store", ...finding })),
    ...schemaCheck(report),
    ...clockCheck(report.now, since, until),
  ];
  // Opening a store migrates it, and a check must not change anything.
  const isReady = report.schema === null || report.schema.found === report.schema.wanted;
  return isReady && report.engine !== "memory" ? [...checks, ...(await contentChecks(session))] : checks;
}

function schemaCheck({ schema }: StoreReport): Check[] {
  if (schema === null) return [];
  const { found, wanted } = schema;
  if (found === wanted) return [check("schema", "good", `schema ${found} is up to date`)];
  if (found > wanted)
    return [
      check("schema", "bad", `schema ${found} is newer than ${wanted}, the newest that this version knows: install a newer Millrace`),
    ];
  const what = found === 0 ? "there is no schema yet" : `schema ${found} is older than ${wanted}`;
  return [check("schema", "doubtful", `${what}: run millrace migrate, or let the first process update it to ${wanted}`)];
}

/** The store answered between `since` and `until`, so its time should lie between them. */
function clockCheck(now: number | null, since: number, until: number): Check[] {
  if (now === null) return [check("clock", "good", "the store uses the clock of this machine")];
  const difference = now < since ? now - since : Math.max(0, now - until);
  const isClose = Math.abs(difference) <= CLOCK_TOLERANCE_MS;
  const words =
    difference === 0
      ? "agrees with this machine"
      : `is ${took(Math.abs(difference))} ${difference > 0 ? "ahead of" : "behind"} this machine`;
  const effect = isClose ? "" : ": jobs use the store's clock, but ages shown here are wrong";
  return [check("clock", isClose ? "good" : "doubtful", `the clock of the store ${words}${effect}`)];
}

async function contentChecks(session: Session): Promise<Check[]> {
  try {
    return await session.withClient(contentOf);
  } catch (error) {
    return [check("content", "bad", messageOf(error))];
  }
}

async function contentOf(client: PlainClient): Promise<Check[]> {
  const [{ deadCount: dead, activeWorkers }, findings] = await Promise.all([client.stats(), client.attention()]);
  const unhandled = findings.filter(({ code }) => code === "no_workers" || code === "no_worker");
  return [
    dead >= MANY_DEAD
      ? check(
          "dead letters",
          "doubtful",
          `there are ${count(dead)} dead letters: see millrace dead-groups, then run retry-dead or purge-dead`,
        )
      : check("dead letters", "good", counted(dead, "dead letter")),
    ...(unhandled.length === 0
      ? [check("workers", "good", counted(activeWorkers, "worker"))]
      : unhandled.map(({ message, hint }) => check("workers", "doubtful", `${message}; ${hint}`))),
  ];
}

async function examineServer(url: string, session: Session): Promise<Check[]> {
  const since = Date.now();
  const response = await fetch(new URL("health", url.endsWith("/") ? url : `${url}/`), { signal: AbortSignal.timeout(DEADLINE_MS) });
  const until = Date.now();
  // The header has whole seconds.
  const serverTime = Date.parse(response.headers.get("date") ?? "");
  const health = response.ok
    ? check("server", "good", `healthy, answered in ${took(until - since)}`)
    : check("server", "bad", `not healthy: /health answered HTTP ${response.status}`);
  return [health, ...(Number.isNaN(serverTime) ? [] : clockCheck(serverTime, since - 1000, until)), ...(await contentChecks(session))];
}

function check(name: string, grade: Check["grade"], message: string): Check {
  return { name, grade, message };
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.message === "fetch failed" ? `not reachable: ${error.cause.message}` : error.message;
}
