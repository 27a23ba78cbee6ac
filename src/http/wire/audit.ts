/** THE AUDIT ON THE WIRE, both ways. */
import type { AuditEntry } from "../../core/audit.ts";
import type { AnswerFrom } from "../contract.ts";
import { fromTime, toTime } from "./values.ts";

type AuditEntryWire = AnswerFrom<"GET /api/v1/audit">["entries"][number];

export function toAuditWire({ at, jobId, ...entry }: AuditEntry): AuditEntryWire {
  return { at: toTime(at), job_id: jobId, ...entry };
}

export function fromAuditWire({ at, job_id, ...entry }: AuditEntryWire): AuditEntry {
  return { at: fromTime(at), jobId: job_id, ...entry };
}
