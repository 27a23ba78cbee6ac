/** Runs a server in one process and a client in another. */
import type { ChildProcess } from "node:child_process";
import { end, messageOf, start } from "../processes/child.ts";
import type { Tree } from "../tree.ts";
import type { ServerMessage } from "./server-message.ts";

/** What the client sends to its parent process. */
export type LoadMessage =
  | { readonly kind: "warm" }
  | { readonly kind: "asked"; readonly requests: number; readonly ms: number; readonly p99: number };

/** How many connections, jobs per request, and how long. */
export interface HttpLoad {
  readonly connections: number;
  readonly batch: number;
  readonly seconds: number;
}

/** Jobs per second, the 99th percentile of the response time, and the CPU time of the server for 1,000 requests, both in milliseconds. */
export type Loaded = readonly [rate: number, p99: number, cpuMs: number];

const KEY = "the-key-of-the-bench";

/** Our server on this store. */
export function loadMillrace(tree: Tree, url: string, load: HttpLoad): Promise<Loaded> {
  return runLoad(new URL("./millrace-server.ts", import.meta.url), [tree.folder, url, KEY], load);
}

/** A bare server. */
export function loadEcho(load: HttpLoad): Promise<Loaded> {
  return runLoad(new URL("./echo-server.ts", import.meta.url), [], load);
}

async function runLoad(program: URL, args: readonly string[], { connections, batch, seconds }: HttpLoad): Promise<Loaded> {
  await using stack = new AsyncDisposableStack();
  const server = stack.adopt(start(program, args), end);
  const { port } = await messageOf<Extract<ServerMessage, { kind: "listening" }>>(server);
  const load = stack.adopt(start(new URL("./load.ts", import.meta.url), [port, connections, batch, seconds, KEY]), end);
  await messageOf(load);
  const before = await cpuOf(server);
  load.send("go");
  const { requests, ms, p99 } = await messageOf<Extract<LoadMessage, { kind: "asked" }>>(load);
  const cpuMs = (await cpuOf(server)) - before;
  return [(requests * batch * 1000) / ms, p99, (cpuMs * 1000) / requests];
}

async function cpuOf(server: ChildProcess): Promise<number> {
  const answer = messageOf<Extract<ServerMessage, { kind: "used" }>>(server);
  server.send("cpu");
  return (await answer).cpuMs;
}
