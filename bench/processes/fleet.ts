/** Real processes that do the same work at once, timed from their common start to the end of the last job. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Word } from "./word.ts";

/** Jobs a second of `count` processes that enqueue `jobs` together, 100 callers each. */
export async function produce(url: string, count: number, jobs: number): Promise<number> {
  return (await measure(new URL("./producer.ts", import.meta.url), count, jobs, [url, String(Math.ceil(jobs / count))])).perSecond;
}

/** Jobs a second of `count` processes that work off `jobs` together, 100 slots each. */
export async function consume(url: string, count: number, jobs: number): Promise<number> {
  return (await measure(new URL("./consumer.ts", import.meta.url), count, jobs, [url])).perSecond;
}

/** The processor's time that one process takes for each of `jobs` that it works off, in microseconds. */
export async function consumeAlone(url: string, jobs: number): Promise<number> {
  return (await measure(new URL("./consumer.ts", import.meta.url), 1, jobs, [url])).cpuUs / jobs;
}

/** The same while somebody reads the events of a server in another process. */
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
  /** Of all processes together. */
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
    const words = await Promise.race([done, ...tooSoon]);
    const ms = Math.max(...words.map(({ at }) => at)) - started;
    return { perSecond: (jobs * 1000) / ms, cpuUs: words.reduce((sum, { cpuUs }) => sum + cpuUs, 0) };
  } finally {
    for (const child of children) if (child.connected) child.disconnect();
    await Promise.all(ends);
  }
}

async function isReady(child: ChildProcess): Promise<void> {
  await once(child, "message");
}

type Did = Extract<Word, { kind: "did" }>;

/** What each process said when all jobs were done. */
function allDone(children: readonly ChildProcess[], jobs: number): Promise<readonly Did[]> {
  return new Promise((resolve) => {
    const latest = new Map<ChildProcess, Did>();
    for (const child of children) {
      child.on("message", (word: Word) => {
        if (word.kind === "did") latest.set(child, word);
        const words = [...latest.values()];
        if (words.reduce((sum, { jobs }) => sum + jobs, 0) >= jobs) resolve(words);
      });
    }
  });
}
