/** One of several processes on a store: `member.ts TREE URL`. Runs jobs or enqueues them, as it is asked. */
import { openMillrace } from "../millrace-queue.ts";
import { loadTree } from "../tree.ts";
import type { Answer, Request } from "./messages.ts";

const TELL_MS = 10;

const [folder, url] = process.argv.slice(2) as [string, string];
const queue = await openMillrace(await loadTree(folder), { url });
// The other end may be gone before this process hears of it.
const say = (answer: Answer): void => void (process.connected && process.send!(answer, undefined, undefined, () => {}));

let jobs = 0;
const count = (ended: number): void => void (jobs += ended);
const tell = (): void => {
  if (jobs === 0) return;
  const { user, system } = process.cpuUsage();
  say({ kind: "did", jobs, cpuUs: user + system });
  jobs = 0;
};
const teller = setInterval(tell, TELL_MS);

let stop: () => Promise<unknown> = async () => {};

async function answer(request: Request): Promise<void> {
  switch (request.kind) {
    case "work": {
      const work = await queue.work(request, count);
      stop = () => work.stop();
      break;
    }
    case "add":
      stop = enqueue(request.callers);
      break;
    case "stop":
      await stop();
      break;
  }
  say({ kind: "done" });
}

/** Returns what stops it. */
function enqueue(callers: number): () => Promise<unknown> {
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await queue.add();
      count(1);
    }
  };
  const loops = Promise.all(Array.from({ length: callers }, loop));
  return () => {
    stopping.abort();
    return loops;
  };
}

process.on("message", (request: Request) => void answer(request));
process.once("disconnect", () => {
  clearInterval(teller);
  void stop().then(() => queue.close());
});
say({ kind: "done" });
