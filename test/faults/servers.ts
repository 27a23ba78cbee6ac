import { freshSchema, POSTGRES_REQUEST, startOwnPostgres } from "../servers/postgres.ts";
import { freshPrefix, type RedisServerOptions, startRedis } from "../servers/redis.ts";
import { TcpProxy } from "../servers/tcp-proxy.ts";

/** A server of our own that can be killed, and a wire to it that can be cut. */
export interface FaultyServer {
  readonly port: number;
  readonly wire: TcpProxy;
  /** What a request looks like on the wire that reads or changes jobs. */
  readonly request: RegExp;
  /** A store on it that nobody has used: its URL straight to the server, and over the wire. */
  store(): { readonly url: string; readonly wiredUrl: string };
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** A kind of server to try. */
export interface FaultyEngine {
  readonly name: string;
  /** Starts a server that loses nothing which it has answered. */
  readonly start: () => Promise<FaultyServer>;
}

export const POSTGRES: FaultyEngine = { name: "PostgreSQL", start: startFaultyPostgres };
export const REDIS: FaultyEngine = { name: "Redis", start: () => startFaultyRedis("always") };
export const ENGINES: readonly FaultyEngine[] = [POSTGRES, REDIS];

export async function startFaultyPostgres(): Promise<FaultyServer> {
  const server = await startOwnPostgres({ fsync: true });
  // After a request the server says that it is ready for the next one, and not in a transaction: what was asked is committed.
  const isWhole = (answer: Buffer): boolean => answer.subarray(-6).equals(Buffer.from("Z\0\0\0\u0005I", "latin1"));
  const wire = await TcpProxy.to(server.port, { isWhole });
  return {
    port: server.port,
    wire,
    request: POSTGRES_REQUEST,
    store: () => both(freshSchema(server.url), wire),
    kill: () => server.kill(),
    restart: () => server.restart(),
    stop: () => stopBoth(wire, server),
  };
}

export async function startFaultyRedis(appendOnly: NonNullable<RedisServerOptions["appendOnly"]>): Promise<FaultyServer> {
  const server = await startRedis({ appendOnly });
  const wire = await TcpProxy.to(server.port);
  return {
    port: server.port,
    wire,
    request: /evalsha/i,
    store: () => both(freshPrefix(server.url), wire),
    kill: () => server.kill(),
    restart: () => server.restart(),
    stop: () => stopBoth(wire, server),
  };
}

function both(url: string, wire: TcpProxy): { url: string; wiredUrl: string } {
  const wired = new URL(url);
  wired.port = String(wire.port);
  return { url, wiredUrl: wired.href };
}

async function stopBoth(wire: TcpProxy, server: { stop(): Promise<void> }): Promise<void> {
  wire.close();
  await server.stop();
}
