import { onTestFinished } from "vitest";

/** From now on: the rejections of promises that nobody waits for. Each would end a process. Ask for them when all calls have ended. */
export function strayRejections(): () => Promise<unknown[]> {
  const strays: unknown[] = [];
  const note = (error: unknown): void => void strays.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return async () => {
    // Node tells of them when the microtasks are done, before anything that was put off.
    await new Promise((resolve) => void setImmediate(resolve));
    return strays;
  };
}
