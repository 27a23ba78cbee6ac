import type { auditRoutes } from "../contract/audit.ts";
import { type Handlers, ok, type RouteParts } from "../route-input.ts";
import { toAuditWire } from "../wire/audit.ts";

export function auditHandlers({ client }: RouteParts): Handlers<keyof typeof auditRoutes> {
  return {
    async "GET /api/v1/audit"({ query: { job_id, ...query } }) {
      const { entries, cursor } = await client.audit({ jobId: job_id, ...query });
      return ok({ entries: entries.map(toAuditWire), next_cursor: cursor });
    },
  };
}
