import type { AuditAction, AuditEntry } from "../../core/audit.ts";
import { AUDIT_ACTIONS, AUDIT_KEPT_WORDS } from "../../core/audit.ts";
import { toAuditWire } from "../../http/wire/audit.ts";
import { defineCommand, number, text } from "../command.ts";
import { age, NOTHING } from "../figures.ts";
import type { Column } from "../table.ts";

const DEFAULT_LIMIT = 50;

export const audit = defineCommand({
  about: `Shows who changed what by hand, newest first: jobs, dead letters, bulk operations, queues and schedules. Entries are kept for ${AUDIT_KEPT_WORDS}.`,
  examples: ["millrace audit", "millrace audit --action queue:paused --queue mail", "millrace audit --by deploy --json"],
  options: {
    by: text("<name>", "only changes by this API key, user or program"),
    action: text("<action>", "only this kind of change", AUDIT_ACTIONS),
    queue: text("<name>", "only changes of this queue and its jobs"),
    job: { ...text("<id>", "only changes of this job or bulk operation"), field: "jobId" },
    limit: number(`how many at most (default: ${DEFAULT_LIMIT})`),
    cursor: text("<cursor>", "continue where the previous list ended"),
  },
  async run({ by, action, queue, job, limit = DEFAULT_LIMIT, cursor }, session) {
    const query = { by, action: action as AuditAction | undefined, queue, jobId: job, limit, cursor };
    const page = await session.withClient((client) => client.audit(query));
    session.output.items(page.entries, toAuditWire, columns(Date.now()), "no changes");
    if (page.cursor !== null) session.output.message(`there may be more: continue with --cursor ${page.cursor}`);
  },
});

function columns(now: number): readonly Column<AuditEntry>[] {
  return [
    { title: "AGE", text: ({ at }) => age(at, now), align: "right" },
    { title: "BY", text: ({ by }) => by ?? NOTHING, shrinks: "middle" },
    { title: "ACTION", text: ({ action }) => action },
    { title: "WHAT", text: ({ schedule, jobId, queue }) => schedule ?? jobId ?? queue ?? NOTHING, shrinks: "end" },
    { title: "DETAILS", text: ({ details }) => details ?? NOTHING, shrinks: "end" },
    { title: "REASON", text: ({ reason }) => reason ?? NOTHING, shrinks: "end" },
  ];
}
