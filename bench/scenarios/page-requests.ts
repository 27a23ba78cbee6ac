/** THE REQUESTS OF THE DASHBOARD, each with the filters that cost most. A page that asks for something new adds it here. */
import type { BulkAction } from "../../src/core/bulk.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/time-units.ts";
import type { Stock } from "./page-stock.ts";

export interface PageRequest {
  /** The same for every stock. */
  readonly name: string;
  readonly path: string;
  /** Sent with POST. */
  readonly body?: object;
  /** The page after the first of this list is measured. */
  readonly isNext?: boolean;
}

/** In the names of requests. */
export const PLACEHOLDERS: Stock = { waiting: "{id}", ended: "{ended id}", dead: "{dead id}", group: "{group}" };

const LONG_AGO = "2020-01-01T00:00:00Z";
const STATUSES = ["pending", "completed", "scheduled", "retrying", "dead", "running", "cancelled", "completed&queue=mail"];
const FILTERS = [
  "",
  "page=100",
  "type=t3",
  "type=none",
  "queue=mail",
  "queue=mail&type=none",
  "priority=high",
  "internal=true",
  "tag=rare",
  "tag=none",
  "tag=rare&page=3",
  `from=${LONG_AGO}&to=2100-01-01T00:00:00Z`,
  "status=completed&type=t3&tag=rare",
  "where=customer:c3&queue=mail",
  "where=customer:c3",
  "where=customer:none&queue=mail",
  "where=customer:none",
  "where=customer:c3&q=no+such+text",
  "where=other:c3",
];
/** Lists in the order of their status, as the page asks for them. */
const BY_STATE = [
  ...["pending", "completed", "cancelled", "failed_only", "dead", "scheduled,retrying", "pending,running"].map(
    (status) => `status=${status}`,
  ),
  "status=pending&queue=mail&type=t3",
  "status=pending&priority=low",
  "status=pending&tag=none",
  "status=pending&q=no+such+text",
  "status=pending&where=customer:c3",
  `status=completed&ended_from=${LONG_AGO}&type=none`,
  `status=completed&from=${LONG_AGO}&to=2020-01-02T00:00:00Z`,
  "status=completed&where=customer:c3&queue=mail",
  "status=completed&where=customer:c3",
  "status=dead&where=customer:c3&queue=mail",
  `ended_from=${LONG_AGO}`,
];
const TEXTS = ["shipped", "no+such+text", "boom&status=dead", "no+such+text&status=dead", "no+such+text&queue=mail"];
/** Lists whose second page is asked for. */
const PAGED = ["", "type=t3", "where=customer:c3&queue=mail", ...["pending", "completed", "dead"].map((one) => `sort=state&status=${one}`)];

/** Every request of the pages. */
export function requestsOf(stock: Stock): PageRequest[] {
  const named = [...fixed(PLACEHOLDERS), ...previews(PLACEHOLDERS)];
  const requests = [...fixed(stock), ...previews(stock)];
  return [...requests.map((request, index) => ({ ...request, name: named[index]!.name })), ...overTime()];
}

function fixed({ waiting, ended, dead: died, group }: Stock): PageRequest[] {
  const states = [...BY_STATE, `status=dead&group=${group}`].map((query) => `sort=state&${query}`);
  const lists = [...STATUSES.map((status) => `status=${status}`), ...states, ...FILTERS, ...TEXTS.map((text) => `q=${text}`), `q=${ended}`];
  const jobs = ["", "/explain", "/attempts", "/changes", "/logs"].flatMap((what) => [`jobs/${waiting}${what}`, `jobs/${died}${what}`]);
  const ofStore = ["stats", "attention", "queues", "queues?internal=true", "queues/mail", "schedules", "schedules/s1/preview", "types"];
  const ofWorkers = ["workers?internal=true", "workers/former?internal=true"];
  const kept = ["bulk?limit=50", "audit?limit=50", "audit?limit=50&queue=mail", "audit?limit=50&by=nobody", "dead/mutes"];
  const dead = ["", "&type=t3", `&ended_from=${LONG_AGO}`, `&group=${group}`, "&q=boom", "&where=customer:c3"];
  const groups = [
    "",
    "?q=boom",
    `?ended_from=${LONG_AGO}`,
    `?group=${group}`,
    "?queue=mail",
    "?queue=mail&type=t3",
    "?where=customer:c3&queue=mail",
    "?where=customer:c3",
  ];
  const facets = ["", "?queue=mail", "?queue=mail&status=dead&type=t3", `?queue=mail&group=${group}`, "?queue=mail&where=region:r1"];
  const paths = [
    ...lists.map((query) => `jobs?limit=50&${query}`),
    ...ofStore,
    ...ofWorkers,
    ...kept,
    ...dead.map((query) => `dead?limit=50${query}`),
    ...groups.map((query) => `dead/groups${query}`),
    ...facets.map((query) => `facets/customer${query}`),
    ...jobs,
  ].map((path) => `/api/v1/${path}`);
  const next = PAGED.map((query) => `/api/v1/jobs?limit=50&${query}`);
  return [
    ...paths.map((path) => ({ name: `GET ${path}`, path })),
    ...next.map((path) => ({ name: `GET ${path}, second page`, path, isNext: true })),
  ];
}

/** What the page asks before a change of all jobs that match. */
function previews({ group }: Stock): PageRequest[] {
  const wanted: [BulkAction, object][] = [
    ["cancel", {}],
    ["cancel", { type: "t3" }],
    ["cancel", { type: "none" }],
    ["cancel", { priority: "high", queue: "mail" }],
    ["cancel", { tag: "rare" }],
    ["cancel", { q: "no such text" }],
    ["cancel", { where: { customer: "c3" } }],
    ["cancel", { where: { customer: "c3" }, queue: "mail" }],
    ["cancel", { from: LONG_AGO }],
    ["cancel", { type: "t3", status: "running" }],
    ["delete", { type: "t3" }],
    ["delete", { status: "completed", type: "t3" }],
    ["delete", { status: "completed", tag: "rare" }],
    ["delete", { status: "completed", ended_from: LONG_AGO }],
    ["delete", { status: "completed", q: "no such text" }],
    ["retry", {}],
    ["retry", { group }],
    ["retry", { where: { customer: "c3" } }],
    ["retry", { where: { customer: "c3" }, queue: "mail" }],
  ];
  return wanted.map(([action, filter]) => ({
    name: `POST /api/v1/bulk, preview of ${action} ${JSON.stringify(filter)}`,
    path: "/api/v1/bulk",
    body: { action, filter, dry_run: true },
  }));
}

/** Charts and tables of the last hour, day, week and month. */
function overTime(): PageRequest[] {
  const spans = {
    "1 h": ["minute", HOUR_MS - MINUTE_MS],
    "24 h": ["hour", DAY_MS - HOUR_MS],
    "7 d": ["hour", 7 * DAY_MS - HOUR_MS],
    "30 d": ["hour", 30 * DAY_MS - HOUR_MS],
  } as const;
  const paths = [
    "stats/history?",
    "stats/history?queue=mail&times=true&",
    "stats/history?queue=mail&type=t3&times=true&",
    "queues/mail/types?",
  ];
  return paths.flatMap((path) =>
    Object.entries(spans).map(([name, [step, ms]]) => ({
      name: `GET /api/v1/${path.slice(0, -1)}, ${name}`,
      path: `/api/v1/${path}step=${step}&from=${Date.now() - ms}`,
    })),
  );
}

/** Makes what sends a request once. Throws if the answer is no success. */
export async function senderOf(
  fetch: (request: Request) => Promise<Response>,
  { name, path, body, isNext = false }: PageRequest,
): Promise<() => Promise<void>> {
  const init = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const send = async (to: string): Promise<string> => {
    const response = await fetch(new Request(`http://localhost${to}`, init));
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${name} answered ${response.status}: ${text}`);
    return text;
  };
  if (!isNext) return async () => void (await send(path));
  const { next_cursor: cursor } = JSON.parse(await send(path)) as { next_cursor: string | null };
  if (cursor === null) throw new Error(`${name}: there is no second page`);
  return async () => void (await send(`${path}&cursor=${cursor}`));
}
