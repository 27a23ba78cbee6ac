import type { Finding } from "../../client/client.ts";
import { defineCommand } from "../command.ts";
import type { Column } from "../table.ts";

export const attention = defineCommand({
  about:
    "Shows what needs attention, the worst first: dead jobs, webhooks that could not be delivered, failed flows, types without a worker, queues that are full, behind or paused, silent workers. The dashboard shows the same.",
  examples: ["millrace attention", "millrace attention --json | jq 'select(.severity == \"bad\")'"],
  async run(_input, session) {
    const findings = await session.withClient((client) => client.attention());
    session.output.items(findings, (finding) => finding, columns, "nothing needs attention");
  },
});

const columns: readonly Column<Finding>[] = [
  { title: "SEVERITY", text: ({ severity }) => severity, style: ({ severity }) => (severity === "bad" ? "red" : "yellow") },
  { title: "FINDING", text: ({ message }) => message },
  { title: "HINT", text: ({ hint }) => hint, shrinks: "end" },
];
