import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/time-units.ts";
import { percentileOf, sampleFor, timeOf } from "../measure/sample.ts";
import { openMillrace } from "../millrace-queue.ts";
import { loadServer } from "../tree.ts";
import { type Stock, stock } from "./page-stock.ts";
import type { Scenario } from "./scenario.ts";
import { inWords } from "./stored-many.ts";

/** There are many requests, so each is measured for a part of the time. */
const SHARE_OF_TIME = 0.1;
/** Most of it is the making of the stock. */
const LONGEST_MS = 60 * MINUTE_MS;

/** In the names of requests. */
const PLACEHOLDERS: Stock = { waiting: "{id}", ended: "{ended id}", dead: "{dead id}", group: "{group}" };

const STATUSES = ["pending", "completed", "scheduled", "retrying", "dead", "running", "cancelled", "completed&queue=mail"];
const FILTERS = [
  "",
  "page=100",
  "type=t3",
  "type=none",
  "queue=mail",
  "priority=high",
  "tag=rare",
  "tag=none",
  "tag=rare&page=3",
  "from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z",
  "status=completed&type=t3&tag=rare",
  "where=customer:c3&queue=mail",
  "where=customer:c3",
  "where=customer:none&queue=mail",
  "where=customer:c3&q=no+such+text",
  "where=other:c3",
];
/** Lists in the order of their status, as the page asks for them. */
const BY_STATE = [
  ...["pending", "completed", "cancelled", "failed_only", "dead", "scheduled,retrying"].map((status) => `status=${status}`),
  "status=pending&queue=mail&type=t3",
  "status=pending&tag=none",
  "status=pending&q=no+such+text",
  "status=completed&ended_from=2020-01-01T00:00:00Z&type=none",
  "status=completed&where=customer:c3&queue=mail",
  "status=dead&where=customer:c3&queue=mail",
];
const TEXTS = ["shipped", "no+such+text", "boom&status=dead", "no+such+text&status=dead", "no+such+text&queue=mail"];

/** The requests of the dashboard: none may become slow when many jobs are stored. One round is enough. */
export const pages: Scenario = {
  name: "pages",
  isOnPage: false,
  async measure(session) {
    if (!session.engine.isShared) return [];
    const { stored, seconds } = session.extent;
    const ours = session.ofTrees((tree) =>
      session.onFreshUrl(async (url) => {
        const found = await stock({ url }, stored);
        const queue = await openMillrace(tree, { url });
        try {
          const { createServer } = await loadServer(tree.folder);
          const { fetch } = createServer(queue.client, { open: true });
          const times: number[] = [];
          for (const path of Object.values(requests(found))) times.push(await timeRequests(fetch, path, seconds * SHARE_OF_TIME));
          return times;
        } finally {
          await queue.close();
        }
      }),
    );
    const names = Object.keys(requests(PLACEHOLDERS));
    const numbers = names.map((name) => ({ what: `GET ${name}, ${inWords(stored)} stored, p95`, unit: "ms" }) as const);
    return session.contest(numbers, ours, { rounds: 1, longestRunMs: LONGEST_MS });
  },
};

/** Every request of the pages: its name, if the stock is the placeholders, and its path. */
function requests({ waiting, ended, dead: died, group }: Stock): Record<string, string> {
  const states = BY_STATE.map((query) => `sort=state&${query}`);
  const lists = [...STATUSES.map((status) => `status=${status}`), ...states, ...FILTERS, ...TEXTS.map((text) => `q=${text}`), `q=${ended}`];
  const jobs = ["", "/explain", "/attempts", "/changes", "/logs"].flatMap((what) => [`jobs/${waiting}${what}`, `jobs/${died}${what}`]);
  const ofStore = ["stats", "attention", "queues", "queues?internal=true", "queues/mail", "schedules", "schedules/s1/preview", "types"];
  const ofWorkers = ["workers?internal=true", "workers/former?internal=true"];
  const kept = ["bulk?limit=50", "audit?limit=50", "audit?limit=50&queue=mail", "audit?limit=50&by=nobody", "dead/mutes"];
  const dead = ["dead?limit=50", "dead?type=t3&limit=50", "dead?ended_from=2020-01-01T00:00:00Z&limit=50", `dead?group=${group}&limit=50`];
  const groups = ["", "?q=boom", "?ended_from=2020-01-01T00:00:00Z", "?queue=mail", "?queue=mail&type=t3", "?where=customer:c3&queue=mail"];
  const facets = ["", "?queue=mail", "?queue=mail&status=dead&type=t3", `?queue=mail&group=${group}`];
  const fixed = [
    ...lists.map((query) => `jobs?limit=50&${query}`),
    ...ofStore,
    ...ofWorkers,
    ...kept,
    ...dead,
    ...groups.map((query) => `dead/groups${query}`),
    ...facets.map((query) => `facets/customer${query}`),
    ...jobs,
  ];
  return { ...Object.fromEntries(fixed.map((path) => [`/api/v1/${path}`, `/api/v1/${path}`])), ...overTime() };
}

/** Charts and tables of the last hour, day, week and month. */
function overTime(): Record<string, string> {
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
  return Object.fromEntries(
    paths.flatMap((path) =>
      Object.entries(spans).map(([name, [step, ms]]) => [
        `/api/v1/${path.slice(0, -1)}, ${name}`,
        `/api/v1/${path}step=${step}&from=${Date.now() - ms}`,
      ]),
    ),
  );
}

/** The 95th percentile, in milliseconds. */
async function timeRequests(fetch: (request: Request) => Promise<Response>, path: string, seconds: number): Promise<number> {
  const ask = async (): Promise<void> => {
    const response = await fetch(new Request(`http://localhost${path}`));
    await response.text();
    if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}`);
  };
  return percentileOf(await sampleFor(seconds, () => timeOf(ask)), 0.95);
}
