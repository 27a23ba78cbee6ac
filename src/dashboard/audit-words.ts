import type { AuditAction } from "../core/audit.ts";

/** Each kind of change, as the page shows it. */
export const AUDIT_WORDS: Readonly<Record<AuditAction, string>> = {
  "job:retried": "Job retried",
  "job:edited": "Job edited and retried",
  "job:started": "Job started now",
  "job:cancelled": "Job cancelled",
  "job:removed": "Job deleted",
  "job:signalled": "Signal sent",
  "dead:retried": "Dead letters retried",
  "dead:purged": "Dead letters deleted",
  "error:muted": "Error muted",
  "error:unmuted": "Error unmuted",
  "flow:cancelled": "Flow cancelled",
  "flow:retried": "Flow retried",
  "bulk:started": "Bulk operation started",
  "bulk:stopped": "Bulk operation stopped",
  "queue:configured": "Queue settings changed",
  "queue:paused": "Queue paused",
  "queue:resumed": "Queue resumed",
  "limits:set": "Limits of a key set",
  "limits:removed": "Limits of a key removed",
  "schedule:saved": "Schedule saved",
  "schedule:removed": "Schedule deleted",
  "schedule:paused": "Schedule paused",
  "schedule:resumed": "Schedule resumed",
  "schedule:run": "Schedule run by hand",
};
