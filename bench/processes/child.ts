/** Processes of the bench: how they are started, talked to and ended. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts a program of the bench. It ends when this process disconnects. */
export function start(program: URL, args: readonly (string | number)[]): ChildProcess {
  return fork(fileURLToPath(program), args.map(String), { execArgv: process.execArgv });
}

/** The next message of a process. Fails if the process ends before. */
export async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const stop = new AbortController();
  const { signal } = stop;
  const tooSoon = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`a process of the bench ended with ${String(code)} before its work was done`);
  });
  try {
    return ((await Promise.race([once(child, "message", { signal }), tooSoon])) as [Message])[0];
  } finally {
    tooSoon.catch(() => {});
    stop.abort();
  }
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  if (child.connected) child.disconnect();
  await exited;
}
