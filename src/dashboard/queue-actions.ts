/** Pauses and resumes queues. Each undoes the other. */
import { act } from "./act.ts";
import { client } from "./api.ts";

export async function pauseQueue(name: string): Promise<void> {
  await act(
    () => client.pause(name),
    () => `${name} is paused: running jobs continue, no other job starts`,
    { undo: () => client.resume(name) },
  );
}

export async function resumeQueue(name: string): Promise<void> {
  await act(
    () => client.resume(name),
    () => `${name} is resumed`,
    { undo: () => client.pause(name) },
  );
}
