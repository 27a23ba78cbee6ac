import type * as ioredis from "ioredis";
import type { Cluster, ClusterOptions, Redis, RedisOptions } from "ioredis";
import { MillraceError } from "../../core/errors.ts";
import type { Reply } from "./codec.ts";
import type { Driver, MessageListener, Subscription } from "./driver.ts";
import { type GivenIoredis, isCluster } from "./given-ioredis.ts";
import type { RedisUrl } from "./url.ts";

export const INSTALL_LINE = 'a redis: URL needs the package ioredis: run "npm install ioredis"';

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
  return new IoredisDriver(connectionsOf(await loadIoredis(), url, timeoutMs));
}

/** The same with the settings of an ioredis of the application. */
export function duplicateIoredis(given: GivenIoredis, timeoutMs: number): Driver {
  return new IoredisDriver(duplicatesOf(given, timeoutMs));
}

const LONGEST_RECONNECT_MS = 1000;
/** How long the server may take to confirm a disconnect. */
const GOODBYE_MS = 500;
const reconnectPause = (times: number): number => Math.min(LONGEST_RECONNECT_MS, 20 * 2 ** Math.min(times, 10));

/** How every connection behaves. ioredis must not queue or resend commands: session.ts decides what may be repeated, and for how long. */
function behaviour(timeoutMs: number): RedisOptions {
  return {
    connectionName: "millrace",
    protocol: 2,
    disableClientInfo: true,
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
    // ioredis ignores the promise of its own resubscription: if the connection breaks meanwhile, its rejection would end the process.
    autoResubscribe: false,
  };
}

/** How the connection of all commands behaves. */
const forCommands = (timeoutMs: number): RedisOptions => ({
  ...behaviour(timeoutMs),
  enableOfflineQueue: false,
  retryStrategy: reconnectPause,
});

/** How a Cluster behaves, beside its connections. */
const forCluster = (timeoutMs: number): ClusterOptions => ({
  enableOfflineQueue: false,
  lazyConnect: true,
  clusterRetryStrategy: reconnectPause,
  // With a retry strategy, errors tell a command that was lost on the way from one that was never sent.
  clusterNodeRetryStrategy: reconnectPause,
  slotsRefreshTimeout: timeoutMs,
  slotsRefreshInterval: 2_000,
  // If its connection broke, a call may have been carried out: session.ts decides whether to repeat it.
  retryDelayOnFailover: 0,
  retryDelayOnTryAgain: 50,
  retryDelayOnClusterDown: 100,
});

type NodeAddress = RedisUrl["nodes"][number];

/** Makes connections, which connect when they are told to. */
interface Connections {
  /** The one for commands. */
  open(): Redis | Cluster;
  /** One for messages: to any of these nodes, if it is a Cluster. */
  openForMessages(masters: () => readonly NodeAddress[]): Redis;
}

function connectionsOf(lib: Ioredis, url: RedisUrl, timeoutMs: number): Connections {
  const { username, password, db, nodes } = url;
  const login = { username, password, ...(url.tls ? { tls: {} } : {}) };
  const address = { ...(url.sentinel === null ? nodes[0] : bySentinels(url, url.sentinel)), db };
  return {
    open: () =>
      url.cluster
        ? new lib.Cluster([...nodes], { ...forCluster(timeoutMs), redisOptions: { ...behaviour(timeoutMs), ...login } })
        : new lib.Redis({ ...forCommands(timeoutMs), ...login, ...address }),
    openForMessages: (masters) => {
      const options = { ...behaviour(timeoutMs), ...login, ...address, maxRetriesPerRequest: null };
      const make = (own: RedisOptions): Redis => new lib.Redis({ ...options, ...own });
      return url.cluster ? openOnAnyNode(make, masters, nodes) : make({ retryStrategy: reconnectPause });
    },
  };
}

/** The Sentinels are asked for the master at each connect, so a failover is followed by itself. */
function bySentinels({ nodes, tls }: RedisUrl, { name, username, password }: NonNullable<RedisUrl["sentinel"]>): RedisOptions {
  return {
    sentinels: [...nodes],
    name,
    sentinelUsername: username,
    sentinelPassword: password,
    sentinelRetryStrategy: reconnectPause,
    ...(tls ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  };
}

/** Settings of the application that would change what we send or read, or end a connection that we rely on. */
const NEUTRAL: RedisOptions = {
  monitor: false,
  readOnly: false,
  role: "master",
  sentinelRetryStrategy: reconnectPause,
  // Without it, commands are sent before the server has accepted the login.
  enableReadyCheck: true,
  stringNumbers: false,
  enableAutoPipelining: false,
  commandTimeout: undefined,
};

/** Duplicates with our behaviour: one that queues or resends commands would do some of them twice. Nothing is sent over the given one. */
function duplicatesOf({ instance, nodes }: GivenIoredis, timeoutMs: number): Connections {
  const forMessages = { ...NEUTRAL, ...behaviour(timeoutMs), enableOfflineQueue: true, maxRetriesPerRequest: null };
  if (!isCluster(instance)) {
    return {
      open: () => instance.duplicate({ ...NEUTRAL, ...forCommands(timeoutMs) }),
      openForMessages: () => instance.duplicate({ ...forMessages, retryStrategy: reconnectPause }),
    };
  }
  let aNode: Redis;
  return {
    open() {
      // With the application's own, such as its login: ioredis 5 would leave them out.
      const redisOptions = { ...instance.options.redisOptions, ...NEUTRAL, ...behaviour(timeoutMs) };
      const cluster = instance.duplicate([], { ...forCluster(timeoutMs), scaleReads: "master", enableAutoPipelining: false, redisOptions });
      // Of the application's own package, which may have another version than the one that we would load.
      cluster.on("+node", (node: Redis) => (aNode = node));
      return cluster;
    },
    openForMessages: (masters) => openOnAnyNode((own) => aNode.duplicate({ ...forMessages, ...own }), masters, nodes),
  };
}

/** On a Cluster any node will do for messages, and the one of the last try may be gone. */
function openOnAnyNode(
  make: (options: RedisOptions) => Redis,
  masters: () => readonly NodeAddress[],
  first: readonly NodeAddress[],
): Redis {
  const next = (): NodeAddress => {
    const nodes = masters().length > 0 ? masters() : first;
    return nodes[Math.floor(Math.random() * nodes.length)]!;
  };
  const redis = make({
    ...next(),
    retryStrategy: (times) => {
      Object.assign(redis.options, next());
      return reconnectPause(times);
    },
  });
  return redis;
}

class IoredisDriver implements Driver {
  readonly #connections: Connections;
  readonly #client: Redis | Cluster;
  #lastError: Error | null = null;
  /** The server refused the database of the URL. ioredis reports that, and goes on in database 0. */
  #notSelected: Error | null = null;

  constructor(connections: Connections) {
    this.#connections = connections;
    this.#client = connections.open();
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

  command(name: string, args: readonly string[]): Promise<Reply> {
    const refusal = this.#refusal(this.#client);
    if (refusal !== null) return Promise.reject(refusal);
    return this.#client.callBuffer(name, args as string[]) as Promise<Reply>;
  }

  async info(): Promise<string[]> {
    if (isCluster(this.#client) && this.#client.status !== "ready") throw new Error("Cluster isn't ready");
    const masters = isCluster(this.#client) ? this.#client.nodes("master") : [this.#client];
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
    return new IoredisSubscription(
      this.#connections.openForMessages(() => this.#masters()),
      listener,
    );
  }

  #masters(): NodeAddress[] {
    if (!isCluster(this.#client)) return [];
    return this.#client.nodes("master").map(({ options }) => ({ host: options.host!, port: options.port! }));
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
  readonly #channels = new Set<string>();
  readonly #ping: NodeJS.Timeout;

  constructor(redis: Redis, listener: MessageListener) {
    this.#redis = redis;
    let isFirst = true;
    redis.on("error", () => {});
    redis.on("ready", () => {
      // Only now: a message between a look and the subscription would be missed.
      if (!isFirst) void this.#subscribe([...this.#channels]).then(() => listener.onGap());
      isFirst = false;
    });
    redis.on("messageBuffer", (channel: Buffer, message: Buffer) => listener.onMessage(channel.toString(), message));
    this.tried = redis.connect().catch(() => {});
    this.#ping = setInterval(() => void redis.ping().catch(() => {}), PING_MS);
    this.#ping.unref();
  }

  add(channel: string): void {
    this.#channels.add(channel);
    void this.#subscribe([channel]);
  }

  remove(channel: string): void {
    this.#channels.delete(channel);
    this.#redis.unsubscribe(channel).catch(() => {});
  }

  /** Resolves when the server has confirmed it, or when that failed. */
  async #subscribe(channels: readonly string[]): Promise<void> {
    if (channels.length > 0) await this.#redis.subscribe(...channels).catch(() => {});
  }

  close(): void {
    clearInterval(this.#ping);
    this.#redis.disconnect();
  }
}
