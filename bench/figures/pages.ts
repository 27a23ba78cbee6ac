import { Discard, type JobPage } from "millrace";
import { createServer } from "millrace/server";
import { type MillraceQueue, openMillrace } from "../millrace-queue.ts";
import { onFresh } from "../places/place.ts";
import type { Figure } from "../report.ts";
import { PAYLOAD, percentileOf } from "../workload.ts";
import { askedFor, type Session } from "./session.ts";

const STORED = 1_000_000;
const ASKED_MS = 150;
const CALLS = 30;
const AT_ONCE = 10_000;
const QUEUES = ["default", "mail", "reports", "sync", "thumbnails"];
const PRIORITIES = ["low", "default", "high", "critical"] as const;

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
];
/** Lists in the order of their status, as the page asks for them. */
const BY_STATE = [
  ...["pending", "completed", "cancelled", "failed_only", "dead", "scheduled,retrying"].map((status) => `status=${status}`),
  "status=pending&queue=mail&type=t3",
  "status=pending&tag=none",
  "status=completed&ended_from=2020-01-01T00:00:00Z&type=none",
];
const TEXTS = ["shipped", "no+such+text", "boom&status=dead", "no+such+text&status=dead", "no+such+text&queue=mail"];

/** The requests of the dashboard: none may become slow when many jobs are stored. */
export async function pageFigures(session: Session): Promise<Figure[]> {
  if (session.engine.name === "memory") return [];
  const stored = session.jobs(STORED);
  return onFresh(session.site, async (place) => {
    const queue = await openMillrace(place);
    try {
      const ids = await stock(queue, stored);
      const server = createServer(queue.client, { open: true });
      const figures: Figure[] = [];
      for (const path of pathsFor(ids)) {
        const what = `GET ${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "{id}")}, ${stored.toLocaleString("en-US")} stored, p95`;
        const time = async (): Promise<readonly number[]> => [await timeRequests(server.fetch, path)];
        figures.push(...(await session.contest(what, "ms", time, [askedFor(ASKED_MS, { atMost: 1 })], 1)));
      }
      return figures;
    } finally {
      await queue.close();
    }
  });
}

/** Ids of a waiting, an ended and a dead job. */
interface Ids {
  readonly waiting: string;
  readonly ended: string;
  readonly dead: string;
}

function pathsFor({ waiting, ended, dead: died }: Ids): string[] {
  const states = BY_STATE.map((query) => `sort=state&${query}`);
  const lists = [...STATUSES.map((status) => `status=${status}`), ...states, ...FILTERS, ...TEXTS.map((text) => `q=${text}`), `q=${ended}`];
  const others = ["stats", "stats/history", "attention", "queues", "queues/mail", "stats/history?queue=mail&times=true&step=minute"];
  const counted = ["workers", "workers/former", "schedules", "bulk", "audit"];
  const dead = ["dead?limit=50", "dead?type=t3&limit=50", "dead?ended_from=2020-01-01T00:00:00Z&limit=50"];
  const groups = ["dead/groups", "dead/groups?q=boom", "dead/groups?ended_from=2020-01-01T00:00:00Z"];
  const jobs = ["", "/explain", "/attempts", "/changes", "/logs"].flatMap((what) => [`jobs/${waiting}${what}`, `jobs/${died}${what}`]);
  return [...lists.map((query) => `jobs?limit=50&${query}`), ...others, ...counted, ...dead, ...groups, ...jobs].map(
    (path) => `/api/v1/${path}`,
  );
}

async function timeRequests(fetch: (request: Request) => Promise<Response>, path: string): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const started = performance.now();
    const response = await fetch(new Request(`http://localhost${path}`));
    await response.text();
    times.push(performance.now() - started);
    if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}`);
  }
  return percentileOf(times, 0.95);
}

/** Half of the jobs wait, a tenth of them scheduled; the other half has ended, some of them dead. */
async function stock(queue: MillraceQueue, jobs: number): Promise<Ids> {
  const { client } = queue;
  for (const name of QUEUES) await client.configure(name, { retention: { count: 10 * jobs, age: "1d" } });
  await add(queue, jobs / 2, (number) => (number % 50 === 0 ? "dies" : `t${number % 20}`));
  await workOff(queue, jobs / 2);
  await add(queue, jobs / 2, (number) => `t${number % 20}`);
  return { waiting: await newest(queue, "pending"), ended: await newest(queue, "completed"), dead: await newest(queue, "dead") };
}

/** Reads pages until there is a job: an empty page may not be the last. */
async function newest({ client }: MillraceQueue, status: string): Promise<string> {
  let cursor: string | null = null;
  do {
    const page: JobPage = await client.list({ status, limit: 1, cursor });
    if (page.jobs[0] !== undefined) return page.jobs[0].id;
    cursor = page.cursor;
  } while (cursor !== null);
  throw new Error(`there is no ${status} job`);
}

async function add({ client }: MillraceQueue, jobs: number, typeOf: (number: number) => string): Promise<void> {
  for (let done = 0; done < jobs; done += AT_ONCE) {
    const items = Array.from({ length: Math.min(AT_ONCE, jobs - done) }, (_, index) => {
      const number = done + index;
      return {
        type: typeOf(number),
        queue: QUEUES[number % QUEUES.length]!,
        priority: PRIORITIES[Math.floor(number / 7) % PRIORITIES.length]!,
        payload: { ...PAYLOAD, data: { order: number } },
        tags: number % 1000 === 0 ? ["rare", "vip"] : [],
        delay: number % 10 === 3 && typeOf(number) !== "dies" ? "7d" : 0,
      } as const;
    });
    const refused = (await client.enqueueMany(items)).find((result) => !result.ok);
    if (refused !== undefined) throw refused.error;
  }
}

/** Runs all due jobs. */
async function workOff({ client }: MillraceQueue, jobs: number): Promise<void> {
  const due = (await client.stats()).counts.pending;
  const finished = Promise.withResolvers<void>();
  let left = Math.min(due, jobs);
  const ran = (): void => {
    if (--left === 0) finished.resolve();
  };
  const handlers = {
    dies: () => {
      ran();
      throw new Discard("boom");
    },
    "*": ran,
  };
  const worker = client.work(handlers, { concurrency: 200, queues: QUEUES });
  await finished.promise;
  await worker.stop();
}
