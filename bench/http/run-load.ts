/** Runs a server in one process and a client in another. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ServerMessage } from "./server-message.ts";

/** What the client sends to its parent process. */
export type LoadMessage = { readonly kind: "warm" } | { readonly kind: "asked"; readonly ms: number; readonly p99: number };

/** How many connections, requests, and jobs per request. */
export interface Load {
  readonly connections: number;
  readonly requests: number;
  readonly batch: number;
}

/** The result. */
export interface Loaded {
  /** Jobs per second. */
  readonly rate: number;
  /** Of the response time, in milliseconds. */
  readonly p99: number;
  /** CPU time of the server per request, in milliseconds. */
  readonly cpuMs: number;
}

const KEY = "the-key-of-the-bench";

/** Our server on this store. */
export function loadMillrace(url: string, load: Load): Promise<Loaded> {
  return runLoad(new URL("./millrace-server.ts", import.meta.url), [url, KEY], load);
}

/** A bare server. */
export function loadEcho(load: Load): Promise<Loaded> {
  return runLoad(new URL("./echo-server.ts", import.meta.url), [], load);
}

async function runLoad(program: URL, args: readonly string[], { connections, requests, batch }: Load): Promise<Loaded> {
  const server = start(program, args);
  try {
    const { port } = await messageOf<Extract<ServerMessage, { kind: "listening" }>>(server);
    const load = start(new URL("./load.ts", import.meta.url), [port, connections, requests, batch, KEY].map(String));
    try {
      await messageOf(load);
      const before = await cpuOf(server);
      load.send("go");
      const { ms, p99 } = await messageOf<Extract<LoadMessage, { kind: "asked" }>>(load);
      const cpuMs = (await cpuOf(server)) - before;
      return { rate: (requests * batch * 1000) / ms, p99, cpuMs: cpuMs / requests };
    } finally {
      await end(load);
    }
  } finally {
    await end(server);
  }
}

function start(program: URL, args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(program), args, { execArgv: process.execArgv });
}

async function cpuOf(server: ChildProcess): Promise<number> {
  const answer = messageOf<Extract<ServerMessage, { kind: "used" }>>(server);
  server.send("cpu");
  return (await answer).cpuMs;
}

async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const tooSoon = once(child, "exit").then(([code]) => {
    throw new Error(`a process of the bench ended with ${String(code)} before its work was done`);
  });
  return ((await Promise.race([once(child, "message"), tooSoon])) as [Message])[0];
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  if (child.connected) child.disconnect();
  await exited;
}
