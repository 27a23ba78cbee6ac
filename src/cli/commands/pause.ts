/** `pause` and `resume`: whether the jobs of a queue may start. */
import { defineCommand, type Option, reason, required, toggle } from "../command.ts";
import type { Session } from "../session.ts";

/** Without it an unknown name is refused: it is probably a typo. */
export const CREATE: Option<boolean> = toggle("make the queue if it does not exist");

const queue = required("queue", "the name of a queue");

export const pause = defineCommand({
  about: "Pauses a queue: none of its jobs starts in any process until you resume it. Running jobs continue, and you can add jobs.",
  examples: ["millrace pause mail"],
  arguments: { queue },
  options: { create: CREATE, reason },
  run: (input, session) => setPaused(true, input, session),
});

export const resume = defineCommand({
  about: "Lets the jobs of a paused queue start again.",
  examples: ["millrace resume mail"],
  arguments: { queue },
  options: { create: CREATE, reason },
  run: (input, session) => setPaused(false, input, session),
});

interface Pause {
  readonly queue: string;
  readonly create: boolean;
  readonly reason: string | undefined;
}

async function setPaused(paused: boolean, { queue, ...options }: Pause, session: Session): Promise<void> {
  const { output } = session;
  await session.withClient(async (client) => {
    await (paused ? client.pause(queue, options) : client.resume(queue, options));
    if (output.json) output.value({ queue, paused });
    else output.message(`queue ${queue} is ${paused ? "paused" : "running"}`);
  });
}
