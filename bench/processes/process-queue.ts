import type { ChildProcess } from "node:child_process";
import { Meter } from "../measure/meter.ts";
import { openMillrace } from "../millrace-queue.ts";
import type { OnJobs, Queue } from "../queue.ts";
import type { Tree } from "../tree.ts";
import { end, start } from "./child.ts";
import type { Answer, Request } from "./messages.ts";

/** Ours in several processes on one store, which do the same at once. They keep what they have compiled from one stretch to the next. */
export interface ProcessQueue extends Queue {
  /** Jobs per second that all of them enqueue together, each with so many callers. */
  enqueueRate(callers: number, seconds: number): Promise<number>;
  /** CPU time of all of them so far, in microseconds. */
  cpuUs(): number;
}

export async function openProcesses(tree: Tree, { url }: { readonly url: string }, count: number): Promise<ProcessQueue> {
  const queue = await openMillrace(tree, { url });
  const members = Array.from({ length: count }, () => new Member(start(new URL("./member.ts", import.meta.url), [tree.folder, url])));
  const all = (act: (member: Member) => Promise<void>): Promise<unknown> => Promise.all(members.map(act));
  await all((member) => member.isReady());

  const begin = async (request: Request, onJobs: OnJobs): Promise<{ stop(): Promise<unknown> }> => {
    for (const member of members) member.onJobs = onJobs;
    await all((member) => member.ask(request));
    return { stop: () => all((member) => member.ask({ kind: "stop" })) };
  };
  return {
    add: () => queue.add(),
    fill: (jobs) => queue.fill(jobs),
    work: (load, onJobs) => begin({ kind: "work", ...load }, onJobs),
    async enqueueRate(callers, seconds) {
      const meter = new Meter(seconds);
      const timeIsUp = Promise.withResolvers<void>();
      const work = await begin({ kind: "add", callers }, (jobs) => void (meter.add(jobs) || timeIsUp.resolve()));
      await timeIsUp.promise;
      await work.stop();
      return meter.perSecond;
    },
    cpuUs: () => members.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
    async close() {
      await Promise.all(members.map((member) => member.end()));
      await queue.close();
    },
  };
}

class Member {
  readonly #child: ChildProcess;
  #done = Promise.withResolvers<void>();
  onJobs: OnJobs = () => {};
  cpuUs = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (answer: Answer) => this.#take(answer));
    child.once("exit", (code) => this.#done.reject(new Error(`a process of the bench ended with ${code}`)));
  }

  isReady(): Promise<void> {
    return this.#done.promise;
  }

  async ask(request: Request): Promise<void> {
    this.#done = Promise.withResolvers();
    this.#child.send(request);
    await this.#done.promise;
  }

  async end(): Promise<void> {
    this.#done.promise.catch(() => {});
    await end(this.#child);
  }

  #take(answer: Answer): void {
    if (answer.kind === "done") return this.#done.resolve();
    this.cpuUs = answer.cpuUs;
    this.onJobs(answer.jobs);
  }
}
