import type * as ioredis from "ioredis";
import type { Cluster, Redis, RedisOptions } from "ioredis";
import { MillraceError } from "../../core/errors.ts";
import type { Reply } from "./codec.ts";
import type { Driver, MessageListener, Subscription } from "./driver.ts";
import type { RedisUrl } from "./url.ts";

export const INSTALL_LINE = 'a redis: URL needs the package ioredis: run "npm install ioredis@6"';

type Ioredis = Pick<typeof ioredis, "Redis" | "Cluster">;

async function loadIoredis(): Promise<Ioredis> {
  try {
    return await import("ioredis");
  } catch (error) {
    throw new MillraceError("unsupported_store", INSTALL_LINE, { cause: error });
  }
}

/** Begins to connect, and keeps trying until it is closed. */
export async function openIoredis(url: RedisUrl, timeoutMs: number): Promise<Driver> {
  return new IoredisDriver(await loadIoredis(), url, timeoutMs);
}

const LONGEST_RECONNECT_MS = 1000;
/** How long the server may take to confirm a disconnect. */
const GOODBYE_MS = 500;
const reconnectPause = (times: number): number => Math.min(LONGEST_RECONNECT_MS, 20 * 2 ** Math.min(times, 10));

/** Options of every connection. ioredis must not queue or resend commands: session.ts decides what may be repeated, and for how long. */
function optionsOf(url: RedisUrl, timeoutMs: number): RedisOptions {
  return {
    username: url.username,
    password: url.password,
    connectionName: "millrace",
    protocol: 2,
    disableClientInfo: true,
    ...(url.tls ? { tls: {} } : {}),
    connectTimeout: timeoutMs,
    // A connection that waits for an answer and receives nothing counts as dead: a cut cable sends no message.
    socketTimeout: timeoutMs,
    keepAlive: 10_000,
    disconnectTimeout: GOODBYE_MS,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A master became a replica: the address may lead to the new master by now.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
    lazyConnect: true,
  };
}

class IoredisDriver implements Driver {
  readonly #lib: Ioredis;
  readonly #url: RedisUrl;
  readonly #timeoutMs: number;
  readonly #client: Redis | Cluster;
  #lastError: Error | null = null;
  /** The server refused the database of the URL. ioredis reports that, and goes on in database 0. */
  #notSelected: Error | null = null;

  constructor(lib: Ioredis, url: RedisUrl, timeoutMs: number) {
    this.#lib = lib;
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#client = url.cluster ? this.#openCluster() : this.#openNode();
    // Without a listener an error would end the process.
    this.#client.on("error", (error: Error & { lastNodeError?: Error }) => (this.#lastError = error.lastNodeError ?? error));
    this.#client.on("connecting", () => (this.#notSelected = null));
    this.#client.on("error", (error: Error & { command?: { name: string } }) => {
      if (error.command?.name === "select") this.#notSelected = error;
    });
    this.#client.on("ready", () => (this.#lastError = null));
    this.#client.connect().catch(() => {});
  }

  get lastError(): Error | null {
    return this.#lastError;
  }

  #openNode(): Redis {
    const { nodes, db } = this.#url;
    const options = { ...optionsOf(this.#url, this.#timeoutMs), ...nodes[0], db, enableOfflineQueue: false, retryStrategy: reconnectPause };
    return new this.#lib.Redis(options);
  }

  #openCluster(): Cluster {
    return new this.#lib.Cluster([...this.#url.nodes], {
      redisOptions: optionsOf(this.#url, this.#timeoutMs),
      enableOfflineQueue: false,
      lazyConnect: true,
      clusterRetryStrategy: reconnectPause,
      // With a retry strategy, errors tell a command that was lost on the way from one that was never sent.
      clusterNodeRetryStrategy: reconnectPause,
      slotsRefreshTimeout: this.#timeoutMs,
      slotsRefreshInterval: 2_000,
      // If its connection broke, a call may have been carried out: session.ts decides whether to repeat it.
      retryDelayOnFailover: 0,
      retryDelayOnTryAgain: 50,
      retryDelayOnClusterDown: 100,
    });
  }

  command(name: string, args: readonly string[]): Promise<Reply> {
    const refusal = this.#refusal(this.#client);
    if (refusal !== null) return Promise.reject(refusal);
    return this.#client.callBuffer(name, args as string[]) as Promise<Reply>;
  }

  async info(): Promise<string[]> {
    if ("nodes" in this.#client && this.#client.status !== "ready") throw new Error("Cluster isn't ready");
    const masters = "nodes" in this.#client ? this.#client.nodes("master") : [this.#client];
    const refusal = masters.map((node) => this.#refusal(node)).find((found) => found !== null);
    if (refusal !== undefined) throw refusal;
    return Promise.all(masters.map((node) => node.info()));
  }

  /**
   * Why nothing may be sent now. While it logs in, and while it closes a connection whose login was refused, ioredis sends INFO, CLIENT and a
   * few more: the server would run them as its default user.
   */
  #refusal({ status }: Redis | Cluster): Error | null {
    return status === "connect" ? new Error("Stream isn't writeable: the login is not accepted yet") : this.#notSelected;
  }

  onReady(listener: () => void): void {
    this.#client.on("ready", listener);
  }

  subscribe(listener: MessageListener): Subscription {
    const options = { ...optionsOf(this.#url, this.#timeoutMs), ...this.#nextNode(), db: this.#url.db, maxRetriesPerRequest: null };
    const redis = new this.#lib.Redis({
      ...options,
      retryStrategy: (times) => {
        // On a Cluster any node will do, and this one may be gone.
        if (this.#url.cluster) Object.assign(redis.options, this.#nextNode());
        return reconnectPause(times);
      },
    });
    return new IoredisSubscription(redis, listener);
  }

  #nextNode(): { host: string; port: number } {
    const known =
      "nodes" in this.#client ? this.#client.nodes("master").map(({ options }) => ({ host: options.host!, port: options.port! })) : [];
    const nodes = known.length > 0 ? known : this.#url.nodes;
    return nodes[Math.floor(Math.random() * nodes.length)]!;
  }

  close(): void {
    this.#client.disconnect();
  }
}

/** How often a silent connection is pinged; without an answer in time it is replaced. */
const PING_MS = 10_000;

class IoredisSubscription implements Subscription {
  readonly tried: Promise<void>;
  readonly #redis: Redis;
  readonly #ping: NodeJS.Timeout;

  constructor(redis: Redis, listener: MessageListener) {
    this.#redis = redis;
    let isFirst = true;
    redis.on("error", () => {});
    redis.on("ready", () => {
      if (!isFirst) listener.onGap();
      isFirst = false;
    });
    redis.on("messageBuffer", (channel: Buffer, message: Buffer) => listener.onMessage(channel.toString(), message));
    this.tried = redis.connect().catch(() => {});
    this.#ping = setInterval(() => void redis.ping().catch(() => {}), PING_MS);
    this.#ping.unref();
  }

  add(channel: string): void {
    this.#redis.subscribe(channel).catch(() => {});
  }

  remove(channel: string): void {
    this.#redis.unsubscribe(channel).catch(() => {});
  }

  close(): void {
    clearInterval(this.#ping);
    this.#redis.disconnect();
  }
}
