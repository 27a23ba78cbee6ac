/** docs/migrating.md with the real packages: the programs of other queues do what ours beside them do, and no option of theirs is missing. */
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeBlocks } from "../e2e/code-blocks.ts";
import { type Program, startProgram, temporaryFolder } from "../e2e/run-program.ts";
import { type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { type OwnRedisServer, startRedis } from "../servers/redis.ts";
import { optionNames } from "./option-names.ts";

/** A program of theirs and one of ours, under one heading, and what both print. */
interface Pair {
  readonly heading: string;
  readonly prints: string;
}

interface Peer {
  readonly name: string;
  /** The section with its programs and its table. */
  readonly heading: string;
  /** More programs, in parts of its section. */
  readonly parts?: readonly Pair[];
  /** What its program imports, by the folder of node_modules that has it. */
  readonly packages: Readonly<Record<string, string>>;
  readonly server: "redis" | "postgres";
  /** The files that declare these types. */
  readonly declarations: readonly string[];
  readonly options: readonly string[];
}

const BULLMQ_JOB = ["JobsOptions", "BackoffOptions", "DeduplicationOptions", "KeepJobs"];
const BULLMQ_FLOW = ["FlowJobBase", "FlowOpts"];
const BULLMQ_WORKER = ["WorkerOptions", "AdvancedOptions", "RateLimiterOptions", "MetricsOptions"];
const BULLMQ = {
  heading: "## From BullMQ",
  server: "redis",
  parts: [{ heading: "### Flows of BullMQ", prints: "total: 3\n" }],
  options: [...BULLMQ_JOB, ...BULLMQ_FLOW, ...BULLMQ_WORKER, "QueueOptions", "RepeatOptions"],
} as const;

const AGENDA_CALLS = ["Agenda.define", "Agenda.every", "Agenda.schedule", "Agenda.nowDebounced"];
const AGENDA_JOB = ["UniqueOpts", "DebounceOptions", "LinearBackoffOptions", "ExponentialBackoffOptions"];
const AGENDA = ["AgendaOptions", ...AGENDA_CALLS, ...AGENDA_JOB];

const PEERS: readonly Peer[] = [
  {
    ...BULLMQ,
    name: "BullMQ 5",
    packages: { bullmq: "bullmq-5" },
    declarations: ["bullmq-5/dist/esm/{interfaces,types}/*.d.ts", "bullmq-5/node_modules/cron-parser/types/common.d.ts"],
  },
  {
    ...BULLMQ,
    name: "BullMQ 6",
    packages: { bullmq: "bullmq-6" },
    declarations: ["bullmq-6/dist/esm/{interfaces,types}/*.d.ts"],
  },
  {
    name: "pg-boss 12",
    heading: "## From pg-boss",
    packages: { "pg-boss": "pg-boss" },
    server: "postgres",
    declarations: ["pg-boss/dist/types.d.ts"],
    options: ["SendOptions", "GroupOptions", "FlowJob", "Queue", "WorkOptions", "FetchOptions", "ScheduleOptions", "ConstructorOptions"],
  },
  {
    name: "Bee-Queue 2",
    heading: "## From Bee-Queue",
    packages: { "bee-queue": "bee-queue" },
    server: "redis",
    declarations: ["bee-queue/index.d.ts"],
    options: ["BeeQueue.QueueSettings", "BeeQueue.Job"],
  },
  {
    name: "Agenda 6",
    heading: "## From Agenda",
    packages: { agenda: "agenda", "@agendajs/postgres-backend": "@agendajs/postgres-backend" },
    server: "postgres",
    declarations: ["agenda/dist/index.d.ts", "agenda/dist/{types,utils}/*.d.ts"],
    options: AGENDA,
  },
  {
    name: "Graphile Worker 0.18",
    heading: "## From Graphile Worker",
    packages: { "graphile-worker": "graphile-worker" },
    server: "postgres",
    declarations: ["graphile-worker/dist/{index,interfaces}.d.ts"],
    options: ["TaskSpec", "RunnerOptions", "GraphileConfig.WorkerOptions", "CronItem", "CronItemOptions"],
  },
];

const root = fileURLToPath(new URL("../../", import.meta.url));
const installed = fileURLToPath(new URL("./node_modules/", import.meta.url));
const page = readFileSync(join(root, "docs/migrating.md"), "utf8");
const OTHERS = [...page.matchAll(/^```(ts \S+)$/gm)].map(([, language = ""]) => language);
const blocks = codeBlocks(page, "ts", ...OTHERS);

let postgres: PostgresServer;
let redis: OwnRedisServer;
beforeAll(async () => void ([postgres, redis] = await Promise.all([startPostgres(), startRedis()])));
afterAll(async () => void (await Promise.all([postgres.stop(), redis.stop()])));

type AtTheEnd = (tidyUp: () => Promise<void> | void) => void;

let redisDatabases = 0;

async function freshDatabase(server: Peer["server"], atTheEnd: AtTheEnd): Promise<string> {
  if (server === "redis") return `${redis.url}/${redisDatabases++}`;
  const { url, drop } = await postgres.database();
  atTheEnd(drop);
  return url;
}

/** A block as it is on the page, in a project that has these packages. */
function writeProject(folder: string, code: string, packages: Readonly<Record<string, string>>): void {
  for (const [name, place] of Object.entries(packages)) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(place, link);
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "program.ts"), code);
}

function start(code: string, packages: Readonly<Record<string, string>>, url: string, atTheEnd: AtTheEnd): Program {
  const cwd = temporaryFolder(atTheEnd);
  writeProject(cwd, code, packages);
  const env = { REDIS_URL: url, DATABASE_URL: url, MILLRACE_URL: url };
  return startProgram(join(cwd, "program.ts"), [], { cwd, atTheEnd, env });
}

function pairsOf({ heading, parts = [] }: Peer): Pair[] {
  return [{ heading, prints: "sent to ann@example.com\n" }, ...parts];
}

/** All of them, with the peer that each belongs to, in the order of the page. */
const PAIRS = PEERS.flatMap((peer) => pairsOf(peer).map((pair) => ({ ...pair, peer, title: `${peer.name} ${pair.heading}` })));

/** Their program and ours. */
function programsOf({ heading }: Pair): [theirs: string, ours: string] {
  const [theirs, ours] = blocks.filter((block) => block.heading === heading);
  return [theirs!.code, ours!.code];
}

function packagesOf({ packages }: Peer): Record<string, string> {
  return Object.fromEntries(Object.entries(packages).map(([name, folder]) => [name, join(installed, folder)]));
}

test("each program of another queue has one of ours beside it, and runs here", () => {
  const headings = [...new Set(PAIRS.map(({ heading }) => heading))];
  expect(blocks.map(({ heading }) => heading)).toEqual(headings.flatMap((heading) => [heading, heading]));
  expect(blocks.filter((_, index) => index % 2 === 1).map(({ language }) => language)).toEqual(headings.map(() => "ts"));
});

describe("both programs run the job, with the same result", () => {
  test.for(PAIRS)("$title", async ({ peer, heading, prints }, { onTestFinished: atTheEnd }) => {
    const url = await freshDatabase(peer.server, atTheEnd);
    const [theirCode, ourCode] = programsOf({ heading, prints });
    const theirs = start(theirCode, packagesOf(peer), url, atTheEnd);
    const ours = start(ourCode, { millrace: root }, url, atTheEnd);
    const { code } = await ours.ended;
    expect({ code, ...ours.output }).toEqual({ code: 0, stdout: prints, stderr: "" });
    // A worker of theirs runs on, and is killed with the test.
    await theirs.printed(ours.output.stdout);
    expect(theirs.output.stderr).toBe("");
  });
});

// An option with a wrong name would change nothing in what a program prints.
test("the programs of other queues fit the types of their packages", () => {
  const folder = temporaryFolder();
  for (const pair of PAIRS) writeProject(join(folder, pair.title.replaceAll("#", "")), programsOf(pair)[0], packagesOf(pair.peer));
  const types = join(folder, "node_modules/@types");
  mkdirSync(types, { recursive: true });
  symlinkSync(join(root, "node_modules/@types/node"), join(types, "node"));
  const compilerOptions = { strict: true, noEmit: true, module: "nodenext", target: "es2024", types: ["node"], skipLibCheck: true };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*/program.ts"] }));
  const args = [join(root, "node_modules/typescript/bin/tsc"), "-p", folder, "--checkers", "1"];
  expect(spawnSync(process.execPath, args, { encoding: "utf8" }).stdout).toBe("");
});

describe("the table has every option of", () => {
  test.for(PEERS)("$name", ({ heading, declarations, options }) => {
    const files = declarations.flatMap((pattern) => globSync(pattern, { cwd: installed })).map((file) => join(installed, file));
    const named = namesInTable(heading);
    expect(optionNames(files, options).filter((name) => !named.has(name))).toEqual([]);
  });
});

/** Every word of code in the first column of a section's table. */
function namesInTable(heading: string): Set<string> {
  const section = page.split(/^(?=## )/m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const cells = [...section.matchAll(/^\| ((?:[^|\\]|\\.)*) \|/gm)].map(([, cell = ""]) => cell);
  return new Set(cells.flatMap((cell) => cell.match(/`[^`]+`/g) ?? []).flatMap((code) => code.match(/\w+/g) ?? []));
}
