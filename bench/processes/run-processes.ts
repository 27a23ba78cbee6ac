/** Several processes that do the same work at once, timed from their common start to the end of the last job. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Message } from "./message.ts";

/** Jobs per second of `count` processes that enqueue `jobs` together, 100 callers each. */
export async function produce(url: string, count: number, jobs: number): Promise<number> {
  return (await measure(new URL("./producer.ts", import.meta.url), count, jobs, [url, String(Math.ceil(jobs / count))])).perSecond;
}

/** Jobs per second of `count` processes that run `jobs` together, 100 slots each. */
export async function consume(url: string, count: number, jobs: number): Promise<number> {
  return (await measure(new URL("./consumer.ts", import.meta.url), count, jobs, [url])).perSecond;
}

/** CPU time of one process per job, in microseconds. */
export async function consumeAlone(url: string, jobs: number): Promise<number> {
  return (await measure(new URL("./consumer.ts", import.meta.url), 1, jobs, [url])).cpuUs / jobs;
}

/** The same while a client reads the events of a server in another process. */
export async function consumeHeard(url: string, jobs: number): Promise<number> {
  const server = start(new URL("./server.ts", import.meta.url), [url]);
  const ended = once(server, "exit");
  try {
    await isReady(server);
    return await consumeAlone(url, jobs);
  } finally {
    if (server.connected) server.disconnect();
    await ended;
  }
}

interface Measured {
  readonly perSecond: number;
  /** Sum over all processes. */
  readonly cpuUs: number;
}

function start(program: URL, args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(program), args, { execArgv: process.execArgv });
}

async function measure(program: URL, count: number, jobs: number, args: readonly string[]): Promise<Measured> {
  const children = Array.from({ length: count }, () => start(program, args));
  const ends = children.map((child) => once(child, "exit"));
  const tooSoon = ends.map(async (end) => {
    const [code, signal] = (await end) as [number | null, string | null];
    throw new Error(`a process of the bench ended with ${code ?? signal} before its work was done`);
  });
  try {
    await Promise.race([Promise.all(children.map(isReady)), ...tooSoon]);
    const done = allDone(children, jobs);
    const started = Date.now();
    for (const child of children) child.send("go");
    const reports = await Promise.race([done, ...tooSoon]);
    const ms = Math.max(...reports.map(({ at }) => at)) - started;
    return { perSecond: (jobs * 1000) / ms, cpuUs: reports.reduce((sum, { cpuUs }) => sum + cpuUs, 0) };
  } finally {
    for (const child of children) if (child.connected) child.disconnect();
    await Promise.all(ends);
  }
}

async function isReady(child: ChildProcess): Promise<void> {
  await once(child, "message");
}

type Did = Extract<Message, { kind: "did" }>;

/** The last message of each process when all jobs were done. */
function allDone(children: readonly ChildProcess[], jobs: number): Promise<readonly Did[]> {
  return new Promise((resolve) => {
    const latest = new Map<ChildProcess, Did>();
    for (const child of children) {
      child.on("message", (message: Message) => {
        if (message.kind === "did") latest.set(child, message);
        const reports = [...latest.values()];
        if (reports.reduce((sum, { jobs }) => sum + jobs, 0) >= jobs) resolve(reports);
      });
    }
  });
}
