import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cluster, Redis } from "ioredis";
import { openStore } from "../../src/store/open-store.ts";
import { parseRedisUrl } from "../../src/store/redis/url.ts";
import type { Store } from "../../src/store/store.ts";
import type { Engine } from "../conformance/harness.ts";
import { freeRedisPort } from "./free-port.ts";

/** A server or Cluster that tests and bench have to themselves. */
export interface RedisServer {
  readonly url: string;
  readonly ports: readonly number[];
  /** Removes everything that is stored. */
  empty(): Promise<void>;
  /** Ends the servers and leaves nothing on disk. May be called twice. */
  stop(): Promise<void>;
}

/** A single server, which can be killed. */
export interface OwnRedisServer extends RedisServer {
  readonly port: number;
  /** Kills the server with SIGKILL. What it had written stays. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  restart(): Promise<void>;
}

export interface RedisServerOptions {
  /** Append-only file: none by default. */
  readonly appendOnly?: "always" | "everysec";
  /** Further arguments of redis-server. */
  readonly args?: readonly string[];
}

const START_DEADLINE_MS = 20_000;

/** Starts one private server on a free port of this machine. */
export async function startRedis(options: RedisServerOptions = {}): Promise<OwnRedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-redis-"));
  let node = await startNode(folder, options);
  const { port } = node;
  return {
    url: `redis://127.0.0.1:${port}`,
    ports: [port],
    port,
    empty: () => flush([port]),
    kill: () => node.kill(),
    restart: async () => void (node = await startNode(folder, options, port)),
    stop: () => node.stop(),
  };
}

/** A Cluster of three masters. */
export interface RedisCluster extends RedisServer {
  /** Kills the node on this port with SIGKILL. */
  kill(port: number): Promise<void>;
}

/** Starts a Cluster of three masters. `isPartial`: without one of them, the others go on. */
export async function startRedisCluster({ isPartial = false }: { readonly isPartial?: boolean } = {}): Promise<RedisCluster> {
  const coverage = isPartial ? "no" : "yes";
  const args = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", coverage];
  const nodes = await Promise.all([0, 1, 2].map(() => startNode(mkdtempSync(join(tmpdir(), "millrace-redis-")), { args })));
  const ports = nodes.map(({ port }) => port);
  const stop = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.stop())));
  try {
    await joinNodes(ports);
  } catch (error) {
    await stop();
    throw error;
  }
  const kill = async (port: number): Promise<void> => nodes.find((node) => node.port === port)!.kill();
  return { url: `redis://${ports.map((port) => `127.0.0.1:${port}`).join()}/?cluster=true`, ports, empty: () => flush(ports), kill, stop };
}

/** A master with a replica, and a Sentinel that watches them. */
export interface SentinelServers {
  readonly url: string;
  /** Kills the master with SIGKILL. The Sentinel makes the replica the master. */
  killMaster(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a master, a replica and a Sentinel. Resolves when the Sentinel knows the replica. */
export async function startSentinel(): Promise<SentinelServers> {
  const master = await startRedis();
  const replica = await startRedis({ args: ["--replicaof", "127.0.0.1", String(master.port)] });
  const folder = mkdtempSync(join(tmpdir(), "millrace-redis-"));
  const port = await freeRedisPort();
  const settings = [
    `port ${port}`,
    "bind 127.0.0.1",
    `sentinel monitor main 127.0.0.1 ${master.port} 1`,
    "sentinel down-after-milliseconds main 300",
    "sentinel failover-timeout main 2000",
  ];
  writeFileSync(join(folder, "sentinel.conf"), `${settings.join("\n")}\n`);
  const watchdog = spawn(process.execPath, ["-e", WATCHDOG, "--", folder, "sentinel.conf", "--sentinel"], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  const gone = once(watchdog, "exit");
  await admin(port, async (redis) => {
    for (;;) {
      const replicas = (await redis.call("SENTINEL", "REPLICAS", "main")) as unknown[];
      if (replicas.length > 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  return {
    url: `redis+sentinel://127.0.0.1:${port}/main`,
    killMaster: () => master.kill(),
    async stop() {
      watchdog.stdin.end("");
      await Promise.all([gone, master.stop(), replica.stop()]);
    },
  };
}

/** The URL of a prefix that nobody has used. */
export function freshPrefix(url: string): string {
  return `${url}${url.includes("?") ? "&" : "?"}prefix=t-${randomBytes(6).toString("hex")}`;
}

// ── Processes ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Node {
  readonly port: number;
  /** Ends it and keeps its folder. */
  readonly kill: () => Promise<void>;
  /** Ends it and removes its folder. May be called twice, also after a kill. */
  readonly stop: () => Promise<void>;
}

/**
 * The server is the child of a small process that kills it when its input closes. So it goes also when the tests are killed, which can tell
 * nobody. Its folder goes with it, unless the last word was to keep it.
 */
const WATCHDOG = `
const { spawn } = require("node:child_process");
const [folder, ...args] = process.argv.slice(1);
const server = spawn("redis-server", args, { cwd: folder, stdio: "ignore" });
let word = "";
const end = () => server.kill("SIGKILL");
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, end);
server.on("error", () => process.exit(127));
server.on("exit", () => {
  if (word !== "keep") require("node:fs").rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
process.stdin.on("data", (text) => (word += text)).on("end", end).on("error", end);
`;

async function startNode(folder: string, options: RedisServerOptions, wantedPort?: number): Promise<Node> {
  for (let tries = 0; ; tries++) {
    const port = wantedPort ?? (await freeRedisPort());
    const persistence = options.appendOnly === undefined ? ["no"] : ["yes", "--appendfsync", options.appendOnly];
    const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", ...persistence];
    mkdirSync(folder, { recursive: true });
    const watchdog = spawn(process.execPath, ["-e", WATCHDOG, "--", folder, ...args, ...(options.args ?? [])], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    const gone = once(watchdog, "exit");
    const end = async (word: string): Promise<void> => {
      watchdog.stdin.end(word);
      await gone;
    };
    const stop = async (): Promise<void> => {
      await end("");
      rmSync(folder, { recursive: true, force: true });
    };
    const code = await Promise.race([answers(port), gone.then(([code]) => code as number)]);
    if (code === "ready") return { port, kill: () => end("keep"), stop };
    rmSync(folder, { recursive: true, force: true });
    if (code === 127)
      throw new Error("redis-server is not on the PATH: install it with the system's package manager (redis-server or valkey)");
    // Somebody else took the port in between.
    if (tries === 3 || wantedPort !== undefined) throw new Error("redis-server does not start");
  }
}

async function answers(port: number): Promise<"ready"> {
  await admin(port, (redis) => redis.ping());
  return "ready";
}

/** Runs commands on one server, as an operator would. Waits for a server that is only starting. */
export async function admin<Answer>(port: number, run: (redis: Redis) => Promise<Answer>): Promise<Answer> {
  const redis = new Redis(port, "127.0.0.1", { retryStrategy: () => 20, maxRetriesPerRequest: null, protocol: 2 });
  redis.on("error", () => {});
  const tooLate = setTimeout(() => redis.disconnect(), START_DEADLINE_MS);
  try {
    return await run(redis);
  } finally {
    clearTimeout(tooLate);
    redis.disconnect();
  }
}

async function flush(ports: readonly number[]): Promise<void> {
  await Promise.all(ports.map((port) => admin(port, (redis) => redis.flushall())));
}

const SLOTS = 16_384;

async function joinNodes(ports: readonly number[]): Promise<void> {
  for (const [index, port] of ports.entries()) {
    const from = Math.floor((index * SLOTS) / ports.length);
    const to = Math.floor(((index + 1) * SLOTS) / ports.length);
    const slots = Array.from({ length: to - from }, (_, offset) => String(from + offset));
    await admin(port, async (redis) => {
      await redis.call("CLUSTER", "ADDSLOTS", ...slots);
      await redis.call("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
      if (index > 0) await redis.call("CLUSTER", "MEET", "127.0.0.1", String(ports[0]));
    });
  }
  const isWhole = async (redis: Redis): Promise<void> => {
    for (;;) {
      const info = String(await redis.call("CLUSTER", "INFO"));
      if (/cluster_state:ok/.test(info) && /cluster_known_nodes:3/.test(info) && /cluster_slots_ok:16384/.test(info)) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(ports.map((port) => admin(port, isWhole)));
}

// ── Engines for the suites ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

const DEADLINE_MS = 10_000;

/** An engine on a server that is started with the first store and has to be stopped. MILLRACE_TEST_REDIS names another one to use. */
export function redisEngine(name: string, start: () => Promise<RedisServer>): Engine & { stop(): Promise<void> } {
  const named = process.env["MILLRACE_TEST_REDIS"] ?? "";
  // A single server cannot stand for a Cluster, nor the other way round.
  const other = named.includes("cluster=true") === (start === startRedisCluster) ? named : "";
  let server: Promise<RedisServer> | null = null;
  let open = 0;
  return {
    name,
    allowancesVanish: "each is a key that expires by itself",
    insertsCallsByNotice: "a script writes in one slot, and a partition is one",
    async open({ clock }) {
      const url = other === "" ? (await (server ??= start())).url : other;
      const prefixed = freshPrefix(url);
      const stores: Store[] = [];
      const reopen = async (): Promise<Store> => {
        const store = await openStore(prefixed, { clock, deadlineMs: DEADLINE_MS });
        stores.push(store);
        return store;
      };
      open++;
      return {
        store: await reopen(),
        reopen,
        async destroy() {
          await Promise.all(stores.map((store) => store.close()));
          open--;
          if (other !== "") await removeAll(prefixed);
          else if (open === 0) await (await server)?.empty();
        },
      };
    },
    async stop() {
      await (await server)?.stop();
    },
  };
}

/** Removes what tests left on a server that is not theirs. */
async function removeAll(url: string): Promise<void> {
  const { nodes, cluster, tls, username, password, db, prefix } = parseRedisUrl(url);
  const options = { username, password, protocol: 2 as const, ...(tls ? { tls: {} } : {}) };
  const client = cluster ? new Cluster([...nodes], { redisOptions: options }) : new Redis({ ...nodes[0], ...options, db });
  try {
    if (client instanceof Cluster) await once(client, "ready");
    for (const node of client instanceof Cluster ? client.nodes("master") : [client]) {
      for await (const keys of node.scanStream({ match: `${prefix}:*`, count: 1_000 }) as AsyncIterable<string[]>) {
        for (const key of keys) await client.unlink(key);
      }
    }
  } finally {
    client.disconnect();
  }
}
