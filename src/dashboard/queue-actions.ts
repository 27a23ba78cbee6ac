/** Pauses and resumes queues. Each undoes the other. A pause asks first: others will want to know why nothing runs. */
import { act } from "./act.ts";
import { client } from "./api.ts";
import { ask } from "./ask.ts";

export async function pauseQueue(name: string): Promise<void> {
  const options = await ask({
    title: `Pause ${name}?`,
    body: "Running jobs continue. No other job starts until you resume it.",
    yes: "Pause",
  });
  if (options === null) return;
  await act(
    () => client.pause(name, options),
    () => `${name} is paused`,
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
