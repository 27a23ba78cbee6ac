import { defineCommand, required } from "../command.ts";
import type { Session } from "../session.ts";

/** Keeps the jobs of a queue from starting. */
export const pause = defineCommand({
  about: "No job of the queue starts until it is resumed, in any process. Running ones go on, and jobs can be added.",
  examples: ["millrace pause mail"],
  arguments: { queue: required("queue", "the name of a queue") },
  run: ({ queue }, session) => setPaused(queue, true, session),
});

/** Pauses or resumes a queue, and says so. */
export async function setPaused(queue: string, paused: boolean, session: Session): Promise<void> {
  const { output } = session;
  await session.withClient(async (client) => {
    const isKnown = (await client.queues()).some(({ name }) => name === queue);
    await (paused ? client.pause(queue) : client.resume(queue));
    // A queue needs no set-up, so a mistyped name is no error; but it should be seen.
    if (!isKnown) output.warn(`millrace: queue ${queue} is new: it had no jobs and no settings so far`);
    if (output.json) output.value({ queue, paused });
    else output.talk(`queue ${queue} is ${paused ? "paused" : "running"}`);
  });
}
