/** Pausing and resuming queues. Each can be taken back by the other. */
import { act } from "./act.ts";
import { client } from "./api.ts";

/** Lets no job of the queue start. */
export async function pauseQueue(name: string): Promise<void> {
  await act(
    () => client.pause(name),
    () => `${name} is paused: running jobs go on, no other starts`,
    { undo: () => client.resume(name) },
  );
}

/** Lets jobs of the queue start again. */
export async function resumeQueue(name: string): Promise<void> {
  await act(
    () => client.resume(name),
    () => `${name} is resumed`,
    { undo: () => client.pause(name) },
  );
}
