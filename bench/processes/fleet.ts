/** Real processes that do the same work at once, timed from their common start to the end of the last job. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Word } from "./word.ts";

/** Jobs a second of `count` processes that enqueue `jobs` together, 100 callers each. */
export function produce(url: string, count: number, jobs: number): Promise<number> {
  return measure(new URL("./producer.ts", import.meta.url), count, jobs, [url, String(Math.ceil(jobs / count))]);
}

/** Jobs a second of `count` processes that work off `jobs` together, 100 slots each. */
export function consume(url: string, count: number, jobs: number): Promise<number> {
  return measure(new URL("./consumer.ts", import.meta.url), count, jobs, [url]);
}

async function measure(program: URL, count: number, jobs: number, args: readonly string[]): Promise<number> {
  const children = Array.from({ length: count }, () => fork(fileURLToPath(program), args, { execArgv: process.execArgv }));
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
    return (jobs * 1000) / ((await Promise.race([done, ...tooSoon])) - started);
  } finally {
    for (const child of children) if (child.connected) child.disconnect();
    await Promise.all(ends);
  }
}

async function isReady(child: ChildProcess): Promise<void> {
  await once(child, "message");
}

/** When the last job was done. */
function allDone(children: readonly ChildProcess[], jobs: number): Promise<number> {
  return new Promise((resolve) => {
    const latest = new Map<ChildProcess, Extract<Word, { kind: "did" }>>();
    for (const child of children) {
      child.on("message", (word: Word) => {
        if (word.kind === "did") latest.set(child, word);
        const words = [...latest.values()];
        if (words.reduce((sum, { jobs }) => sum + jobs, 0) >= jobs) resolve(Math.max(...words.map(({ at }) => at)));
      });
    }
  });
}
