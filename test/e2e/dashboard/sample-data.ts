// A day in the life of a shop, as its queues saw it: for pictures, and for tests that want a page with something on it.

import { setTimeout as sleep } from "node:timers/promises";
import type { Client, EnqueueOptions, LeasedJob, Report } from "../../../src/client/client.ts";
import type { AttemptError } from "../../../src/core/job.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { systemClock } from "../../../src/lib/clock.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A clock that is late, and by how much. */
export class LateClock implements Clock {
  lateMs: number;

  constructor(lateMs: number) {
    this.lateMs = lateMs;
  }

  now(): number {
    return Date.now() - this.lateMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  setTimer(callback: () => void, ms: number): ReturnType<Clock["setTimer"]> {
    return systemClock.setTimer(callback, ms);
  }
}

interface Kind {
  readonly type: string;
  readonly queue: string;
  /** How many of a hundred jobs are of this kind. */
  readonly share: number;
  readonly runMs: number;
  readonly failsOfAThousand: number;
  readonly errors: readonly AttemptError[];
  readonly payload: (index: number) => unknown;
  readonly options?: EnqueueOptions;
}

function failure(name: string, message: string, ...frames: string[]): AttemptError {
  return { name, message, stack: [`${name}: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n"), kind: "error" };
}

const TIMEOUT: AttemptError = { name: "TimeoutError", message: "the handler did not end within 30 s", stack: null, kind: "timeout" };
const LOST: AttemptError = { name: "LeaseLost", message: "the worker was not heard of until the lease ran out", stack: null, kind: "lost" };
const SMTP = failure(
  "SmtpError",
  "421 4.7.0 too many connections from your IP, try again later",
  "SmtpSession.readReply (file:///app/src/mail/smtp-session.ts:118:13)",
  "SmtpSession.open (file:///app/src/mail/smtp-session.ts:61:22)",
  "process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
  "sendEmail (file:///app/src/jobs/email-send.ts:34:20)",
);
const NO_BOX = failure(
  "SmtpError",
  "550 5.1.1 no such mailbox: j.ferreira@exmaple.com",
  "SmtpSession.readReply (file:///app/src/mail/smtp-session.ts:118:13)",
  "sendEmail (file:///app/src/jobs/email-send.ts:38:5)",
);
const DECLINED = failure(
  "CardDeclined",
  "the issuer declined the charge: insufficient_funds",
  "capture (file:///app/src/billing/gateway.ts:77:11)",
  "process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
  "capturePayment (file:///app/src/jobs/payment-capture.ts:21:18)",
);
const CRM = failure(
  "HttpError",
  "GET https://crm.internal/v2/contacts?page=412 answered 502 Bad Gateway",
  "fetchJson (file:///app/src/http/fetch-json.ts:29:11)",
  "syncContacts (file:///app/src/jobs/crm-sync.ts:52:24)",
);

const CITIES = ["Lisbon", "Utrecht", "Kraków", "Gothenburg", "Lyon", "Graz", "Ghent", "Turku"];
const NAMES = ["ann.lindqvist", "b.okafor", "chiara.conti", "d.nowak", "elif.aydin", "f.moreau", "grace.kim", "h.brandt"];
const pick = <Item>(items: readonly Item[], index: number): Item => items[index % items.length]!;

const KINDS: readonly Kind[] = [
  {
    type: "email:send",
    queue: "mail",
    share: 40,
    runMs: 180,
    failsOfAThousand: 25,
    errors: [SMTP, SMTP, NO_BOX, TIMEOUT],
    payload: (index) => ({
      to: `${pick(NAMES, index)}@example.com`,
      template: pick(["order-confirmed", "parcel-sent", "password-reset", "welcome"], index),
      locale: pick(["en", "pt", "nl", "pl"], index),
      order: { id: 48_211 + index, total: { amount: 1299 + (index % 70) * 100, currency: "EUR" }, city: pick(CITIES, index) },
    }),
    options: { tags: ["transactional"] },
  },
  {
    type: "payment:capture",
    queue: "billing",
    share: 12,
    runMs: 640,
    failsOfAThousand: 30,
    errors: [DECLINED],
    payload: (index) => ({
      order: 48_211 + index,
      amount: 1299 + (index % 70) * 100,
      currency: "EUR",
      method: pick(["card", "sepa", "ideal"], index),
    }),
    options: { priority: "critical", maxRetries: 5, tags: ["money"] },
  },
  {
    type: "invoice:render",
    queue: "billing",
    share: 12,
    runMs: 1450,
    failsOfAThousand: 4,
    errors: [TIMEOUT],
    payload: (index) => ({ order: 48_211 + index, format: "pdf", copies: 1 + (index % 2) }),
    options: { priority: "high" },
  },
  {
    type: "image:resize",
    queue: "media",
    share: 18,
    runMs: 820,
    failsOfAThousand: 8,
    errors: [failure("RangeError", "image 6000x9000 exceeds the pixel limit", "resize (file:///app/src/media/resize.ts:19:9)")],
    payload: (index) => ({ key: `products/${7000 + index}/front.jpg`, widths: [320, 640, 1280], quality: 82 }),
    options: { priority: "low" },
  },
  {
    type: "search:index",
    queue: "default",
    share: 14,
    runMs: 95,
    failsOfAThousand: 2,
    errors: [LOST],
    payload: (index) => ({ product: 7000 + index, reason: pick(["created", "price", "stock"], index) }),
  },
  {
    type: "crm:sync",
    queue: "default",
    share: 4,
    runMs: 5200,
    failsOfAThousand: 60,
    errors: [CRM],
    payload: (index) => ({ page: 400 + index, since: "2026-11-14T00:00:00Z" }),
    options: { tags: ["nightly", "partner"] },
  },
];

/** How busy a shop is at each hour of the day, of 100. */
const BUSY = [22, 14, 9, 7, 8, 15, 30, 48, 66, 78, 84, 92, 100, 94, 88, 83, 79, 82, 90, 96, 86, 70, 52, 35];

/** Numbers that look random and are the same each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** A worker that does what it is told to, over the leases that all workers use. */
class Puppet {
  readonly #client: Client;
  readonly #id: string;
  #turn = 0;

  constructor(client: Client, id: string) {
    this.#client = client;
    this.#id = id;
  }

  async claim(queues: readonly string[], types: readonly string[] | "*", limit: number, leaseMs = HOUR_MS): Promise<LeasedJob[]> {
    const request = { workerId: this.#id, queues, types, limit, leaseMs, turn: ++this.#turn, again: false };
    return (await this.#client.leases.exchange([], request)).jobs;
  }

  async settle(reports: readonly Report[]): Promise<void> {
    await this.#client.leases.exchange(reports, null);
  }
}

const ALL_QUEUES = ["mail", "billing", "media", "default"];

/** Lets a day pass: jobs come, are worked, fail, die, hour by hour. `scale` is how many jobs the busiest hour has. */
export async function liveADay(client: Client, clock: LateClock, scale = 240): Promise<void> {
  const random = seeded(7);
  const workers = ["w-mail", "w-billing", "w-media"].map((name) => new Puppet(client, name));
  const start = clock.lateMs;
  for (let step = 0; step < 24 * 4; step++) {
    clock.lateMs = start - step * 15 * MINUTE_MS;
    const hour = new Date(clock.now()).getUTCHours();
    const jobs = Math.round((BUSY[hour]! / 100) * scale * 0.25 * (0.85 + random() * 0.3));
    await client.enqueueMany(Array.from({ length: jobs }, (_, index) => jobOf(kindBy(random()), step * 100 + index)));
    await workAll(pick(workers, step), random);
  }
}

function kindBy(chance: number): Kind {
  let left = chance * 100;
  return KINDS.find((kind) => (left -= kind.share) < 0) ?? KINDS[0]!;
}

function jobOf({ type, payload, queue, options }: Kind, index: number): { type: string; payload: unknown } & EnqueueOptions {
  return { type, payload: payload(index), queue, ...options };
}

async function workAll(worker: Puppet, random: () => number): Promise<void> {
  for (;;) {
    const jobs = await worker.claim(ALL_QUEUES, "*", 200);
    if (jobs.length === 0) return;
    await worker.settle(jobs.map((leased) => reportOf(leased, random)));
  }
}

function reportOf({ job, fence, facts }: LeasedJob, random: () => number): Report {
  const kind = KINDS.find(({ type }) => type === job.type)!;
  const runMs = Math.round(kind.runMs * (0.5 + random() ** 3 * 4));
  const lease = { id: job.id, fence, facts };
  if (random() * 1000 >= kind.failsOfAThousand) {
    return { ...lease, outcome: { kind: "completed", result: JSON.stringify({ ok: true, took: runMs }), runMs } };
  }
  const error = pick(kind.errors, Math.floor(random() * 100));
  return { ...lease, outcome: { kind: random() < 0.4 ? "discard" : "failed", error, delayMs: 0, runMs } };
}

/** What is under way now: running jobs with progress and logs, backlogs, delayed jobs, schedules, workers, and a paused queue. */
export async function liveNow(client: Client): Promise<void> {
  await workOff(client);
  await runSomeJobs(client);
  await letWorkersBeat(client);
  await backlog(client);
  await makeSchedules(client);
  await client.pause("media");
  await client.configure("mail", { capacity: 5000 });
}

/** What failed during the day is due again, as soon as somebody made it ready. */
async function workOff(client: Client): Promise<void> {
  const worker = new Puppet(client, "w-mail");
  const random = seeded(11);
  for (;;) {
    await workAll(worker, random);
    const { counts } = await client.stats();
    if (counts.retrying + counts.pending === 0) return;
    await sleep(100);
  }
}

async function backlog(client: Client): Promise<void> {
  const [mail, payment, invoice, image, search] = KINDS as [Kind, Kind, Kind, Kind, Kind, Kind];
  const many = (kind: Kind, jobs: number): Parameters<Client["enqueueMany"]>[0] =>
    Array.from({ length: jobs }, (_, index) => jobOf(kind, 9000 + index));
  await client.enqueueMany([...many(image, 64), ...many(mail, 23), ...many(payment, 3), ...many(invoice, 9), ...many(search, 12)]);
  await client.enqueueMany([
    { type: "cart:remind", payload: { cart: "c_81f2", to: "grace.kim@example.com" }, queue: "mail", delay: "25m", tags: ["marketing"] },
    { type: "cart:remind", payload: { cart: "c_81f9", to: "d.nowak@example.com" }, queue: "mail", delay: "2h", tags: ["marketing"] },
    { type: "trial:ends", payload: { account: 5121 }, delay: "3d" },
    { type: "report:export", payload: { month: "2026-10", format: "xlsx" }, queue: "reports", priority: "low" },
    { type: "report:export", payload: { month: "2026-09", format: "xlsx" }, queue: "reports", priority: "low" },
  ]);
}

async function runSomeJobs(client: Client): Promise<void> {
  await client.enqueue(
    "video:transcode",
    { key: "tours/lisbon-4k.mov", rungs: ["2160p", "1080p", "720p"], drm: false },
    { queue: "media", timeout: "1h", tags: ["campaign"] },
  );
  await client.enqueueMany(
    ["mail", "mail", "billing", "default"].map((queue, index) =>
      jobOf(
        KINDS.find((kind) => kind.queue === queue)!,
        8000 + index,
      ),
    ),
  );
  const worker = new Puppet(client, "w-3f9a1c7e");
  for (const { job, fence } of await worker.claim(
    ["media", "mail", "billing", "default"],
    ["video:transcode", "email:send", "payment:capture", "search:index"],
    5,
  )) {
    if (job.type !== "video:transcode") continue;
    const lines = [
      "probing tours/lisbon-4k.mov: 3840x2160, 59.94 fps, 4 m 12 s",
      "rung 2160p: encoder hevc, 18 Mbit/s",
      "segment 1 of 63 written in 3.8 s",
      "segment 2 of 63 written in 3.7 s",
      "segment 3 of 63 written in 4.1 s",
      "warning: segment 4 dropped 2 frames, encoding it again",
      "segment 4 of 63 written in 7.9 s",
      "segment 5 of 63 written in 3.8 s",
    ];
    const progress = { percent: 37, note: "rung 2160p, segment 24 of 63" };
    await client.leases.note([{ id: job.id, fence, type: job.type, queue: job.queue, progress, lines }]);
  }
}

/** The workers say that they are there; unless they do so again, they are silent after a while. */
export async function letWorkersBeat(client: Client): Promise<void> {
  const { jobs } = await client.list({ status: "running" });
  const running = jobs.map(({ id }) => id);
  const entry = { startedAt: Date.now() - 9 * HOUR_MS - 22 * MINUTE_MS, abandoned: 0 };
  const workers: Parameters<Client["leases"]["register"]>[0][] = [
    {
      ...entry,
      id: "w-3f9a1c7e",
      host: "worker-1",
      pid: 41,
      state: "busy",
      slots: 20,
      queues: ["mail", "billing", "default", "media"],
      types: ["email:send", "payment:capture", "search:index", "video:transcode"],
      running,
      runningCount: 5,
      processed: 18_204,
      perMinute: 118,
    },
    {
      ...entry,
      id: "w-b07d52aa",
      host: "worker-2",
      pid: 39,
      state: "busy",
      slots: 20,
      queues: ["mail", "billing", "default"],
      types: ["email:send", "payment:capture", "invoice:render", "crm:sync"],
      running: [],
      runningCount: 17,
      processed: 17_988,
      perMinute: 121,
    },
    {
      ...entry,
      id: "w-91ce04d8",
      host: "media-1",
      pid: 12,
      state: "idle",
      slots: 4,
      queues: ["media"],
      types: ["image:resize", "video:transcode"],
      running: [],
      runningCount: 0,
      processed: 2210,
      perMinute: 0,
    },
    {
      ...entry,
      id: "w-e2817bf0",
      host: "worker-3",
      pid: 44,
      state: "stopping",
      slots: 20,
      queues: ["mail"],
      types: ["email:send"],
      running: [],
      runningCount: 2,
      processed: 9017,
      perMinute: 14,
      abandoned: 1,
    },
  ];
  for (const worker of workers) await client.leases.register(worker, HOUR_MS);
}

async function makeSchedules(client: Client): Promise<void> {
  await client.schedules.upsert({
    name: "nightly-crm",
    cron: "30 2 * * *",
    timeZone: "Europe/Berlin",
    type: "crm:sync",
    payload: { full: true },
    overlap: "skip",
  });
  await client.schedules.upsert({
    name: "weekday-digest",
    cron: "0 8 * * 1-5",
    timeZone: "Europe/Lisbon",
    type: "email:digest",
    queue: "mail",
    payload: { audience: "editors" },
  });
  await client.schedules.upsert({ name: "stock-poll", every: "30s", type: "stock:poll", payload: null, overlap: "skip", catchUp: "skip" });
  await client.schedules.upsert({
    name: "month-end-report",
    cron: "0 6 1 * *",
    type: "report:export",
    queue: "reports",
    payload: { format: "xlsx" },
    priority: "high",
  });
  await client.schedules.pause("month-end-report");
  await client.schedules.run("nightly-crm");
}
