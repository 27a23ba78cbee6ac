import { defineCommand, required } from "../command.ts";
import { CREATE, setPaused } from "./pause.ts";

/** Lets the jobs of a queue start again. */
export const resume = defineCommand({
  about: "Lets the jobs of a paused queue start again.",
  examples: ["millrace resume mail"],
  arguments: { queue: required("queue", "the name of a queue") },
  options: { create: CREATE },
  run: ({ queue, create }, session) => setPaused(queue, false, create, session),
});
