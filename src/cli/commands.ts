/** EVERY COMMAND, ONCE. A command is loaded when it is called, so that none waits for the imports of another. */
import type { Command, CommandGroup } from "./command.ts";

/** A command as the list of commands shows it. */
export interface CommandRow {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  readonly load: () => Promise<Command | CommandGroup>;
}

function row(group: string, name: string, summary: string, load: CommandRow["load"]): CommandRow {
  return { name, group, summary, load };
}

/** The commands, in the order of the help. */
export const COMMANDS: readonly CommandRow[] = [
  row("Jobs", "enqueue", "Add a job", async () => (await import("./commands/enqueue.ts")).enqueue),
  row("Jobs", "status", "Show a job with its attempts and log", async () => (await import("./commands/status.ts")).status),
  row("Jobs", "list", "List jobs", async () => (await import("./commands/list.ts")).list),
  row("Jobs", "explain", "Explain why a job is not running", async () => (await import("./commands/explain.ts")).explain),
  row("Jobs", "steps", "Show what a job keeps and waits for", async () => (await import("./commands/steps.ts")).steps),
  row("Jobs", "signal", "Send a signal to a job that waits for it", async () => (await import("./commands/signal.ts")).signal),
  row("Jobs", "flows", "Show and change flows", async () => (await import("./commands/flows.ts")).flows),
  row("Jobs", "cancel", "Cancel jobs", async () => (await import("./commands/change-job.ts")).cancel),
  row("Jobs", "retry", "Retry dead, failed or cancelled jobs", async () => (await import("./commands/change-job.ts")).retry),
  row("Jobs", "bulk", "Retry, cancel or delete all jobs that match", async () => (await import("./commands/bulk.ts")).bulk),
  row("Jobs", "dead-groups", "Show dead letters by error", async () => (await import("./commands/dead-groups.ts")).deadGroups),
  row("Jobs", "errors", "Mute error groups", async () => (await import("./commands/errors.ts")).errors),
  row("Jobs", "facets", "Count failed jobs by a payload field", async () => (await import("./commands/facets.ts")).facets),
  row("Jobs", "retry-dead", "Retry all dead letters", async () => (await import("./commands/dead.ts")).retryDead),
  row("Jobs", "purge-dead", "Delete all dead letters", async () => (await import("./commands/dead.ts")).purgeDead),
  row("Queues", "queues", "Show queues and change their settings", async () => (await import("./commands/queues.ts")).queues),
  row("Queues", "pause", "Pause a queue", async () => (await import("./commands/pause.ts")).pause),
  row("Queues", "resume", "Resume a queue", async () => (await import("./commands/pause.ts")).resume),
  row("Queues", "limits", "Show and change limits", async () => (await import("./commands/limits.ts")).limits),
  row("Queues", "schedules", "Show and change recurring jobs", async () => (await import("./commands/schedules.ts")).schedules),
  row("Watch", "stats", "Show statistics of all queues", async () => (await import("./commands/stats.ts")).stats),
  row("Watch", "attention", "Show what needs attention", async () => (await import("./commands/attention.ts")).attention),
  row("Watch", "audit", "Show who changed what", async () => (await import("./commands/audit.ts")).audit),
  row("Watch", "workers", "Show the workers of all processes", async () => (await import("./commands/workers.ts")).workers),
  row("Watch", "types", "Show the types that workers handle, and their schemas", async () => (await import("./commands/types.ts")).types),
  row("Watch", "top", "Show a live view of queues, workers and errors", async () => (await import("./commands/top.ts")).top),
  row("Watch", "tail", "Show events as they happen", async () => (await import("./commands/tail.ts")).tail),
  row("Run", "start", "Serve the API and run jobs", async () => (await import("./commands/serve.ts")).start),
  row("Run", "server", "Serve the API", async () => (await import("./commands/serve.ts")).server),
  row("Run", "worker", "Run jobs", async () => (await import("./commands/worker.ts")).worker),
  row("Run", "demo", "Run a demonstration", async () => (await import("./commands/demo.ts")).demo),
  row("Set up", "migrate", "Update the schema of the store", async () => (await import("./commands/migrate.ts")).migrate),
  row("Set up", "doctor", "Check settings and store", async () => (await import("./commands/doctor.ts")).doctor),
  row("Set up", "completion", "Print a completion script for a shell", async () => (await import("./commands/completion.ts")).completion),
];

export function isGroup(command: Command | CommandGroup): command is CommandGroup {
  return "commands" in command;
}
