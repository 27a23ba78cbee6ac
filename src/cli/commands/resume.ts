import { defineCommand, required } from "../command.ts";
import { setPaused } from "./pause.ts";

/** Lets the jobs of a queue start again. */
export const resume = defineCommand({
  about: "Lets the jobs of a paused queue start again.",
  examples: ["millrace resume mail"],
  arguments: { queue: required("queue", "the name of a queue") },
  run: ({ queue }, session) => setPaused(queue, false, session),
});
