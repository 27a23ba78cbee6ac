/** Dead letters: jobs that failed for good and wait for somebody to act. */
import { type AuditAction, auditEntry, detailsOf } from "../core/audit.ts";
import type { BulkAction } from "../core/bulk.ts";
import { toJobSummary } from "../core/job.ts";
import { type Actor, CHANGE_OPTIONS, readActor } from "../core/manual-change.ts";
import type { ClientParts } from "./announcer.ts";
import { changeJobs } from "./changes.ts";
import type { DeadLetters } from "./client.ts";
import { groupErrors } from "./error-groups.ts";
import { readDeadFilter, readDeadQuery } from "./filter.ts";
import { auditedGroup, readGroupWords } from "./group-words.ts";
import { createMutes } from "./mutes.ts";
import { readOptions } from "./refusals.ts";
import { listJobs, listToChange } from "./search.ts";
import type { FieldQuery } from "./where.ts";

export function createDeadLetters(parts: ClientParts): DeadLetters {
  const { store } = parts;

  async function change(action: BulkAction, audited: AuditAction, filter: object | undefined, options: unknown): Promise<number> {
    const query = readDeadFilter(filter);
    const actor = readActor(readOptions(options, "the options of a change", CHANGE_OPTIONS), parts.actor);
    const changed = { jobs: 0 };
    // Asked before the change: nobody has the error afterwards.
    const group = auditedGroup(query.group, await readGroupWords(store, query.group));
    try {
      await changeAll(parts, action, query, actor, changed);
    } finally {
      // Also what was changed before something failed.
      const details = detailsOf({ ...changed, ...filter, ...group });
      if (changed.jobs > 0) await parts.writeAudit([auditEntry(audited, actor, { queue: query.queue ?? null, details })]);
    }
    return changed.jobs;
  }

  return {
    async list(query) {
      const { jobs, cursor } = await listJobs(store, readDeadQuery(query));
      return { jobs: jobs.map(toJobSummary), cursor };
    },
    async groups(filter) {
      return groupErrors(store, readDeadFilter(filter));
    },
    retry: (filter, options) => change("retry", "dead:retried", filter, options),
    purge: (filter, options) => change("delete", "dead:purged", filter, options),
    ...createMutes(parts),
  };
}

/** Changes all matching jobs page by page, and counts them. The cursor only goes to earlier ends, so this ends even if more jobs die. */
async function changeAll(
  parts: ClientParts,
  action: BulkAction,
  query: FieldQuery,
  actor: Actor,
  changed: { jobs: number },
): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await listToChange(parts.store, { ...query, cursor });
    const { jobs } = page;
    const answers = jobs.length === 0 ? [] : await changeJobs(parts, action, jobs, ["dead"], actor);
    changed.jobs += answers.filter((answer) => answer.kind === "ok").length;
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
}
