import { toStepWire } from "../../http/wire/step.ts";
import { defineCommand, required } from "../command.ts";
import { stepColumns } from "../step-view.ts";

export const steps = defineCommand({
  about:
    "Shows what a job keeps and waits for: the results of its steps, its sleeps, the signals it waits for, and the jobs that it calls.",
  examples: [
    "millrace steps 0199f3c2-7b5e-7000-8000-0123456789ab",
    "millrace steps 0199f3c2-7b5e-7000-8000-0123456789ab --json | jq 'select(.state == \"open\")'",
  ],
  arguments: { id: required("id", "the id of a job") },
  async run({ id }, session) {
    const found = await session.withClient((client) => client.steps(id));
    const { output } = session;
    output.items(found, toStepWire, stepColumns(Date.now(), output.mark), "the job has no steps");
  },
});
