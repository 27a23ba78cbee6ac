import { defineCommand, type Option, required, toggle } from "../command.ts";
import type { Session } from "../session.ts";

/** A name that no queue has is likely mistyped. */
export const CREATE: Option<boolean> = toggle("make the queue if there is none of that name");

/** Keeps the jobs of a queue from starting. */
export const pause = defineCommand({
  about: "No job of the queue starts until it is resumed, in any process. Running ones go on, and jobs can be added.",
  examples: ["millrace pause mail"],
  arguments: { queue: required("queue", "the name of a queue") },
  options: { create: CREATE },
  run: ({ queue, create }, session) => setPaused(queue, true, create, session),
});

/** Pauses or resumes a queue, and says so. */
export async function setPaused(queue: string, paused: boolean, create: boolean, session: Session): Promise<void> {
  const { output } = session;
  await session.withClient(async (client) => {
    await (paused ? client.pause(queue, { create }) : client.resume(queue, { create }));
    if (output.json) output.value({ queue, paused });
    else output.talk(`queue ${queue} is ${paused ? "paused" : "running"}`);
  });
}
