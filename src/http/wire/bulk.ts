/** BULK OPERATIONS AND ERROR GROUPS ON THE WIRE, both ways. */
import type { BulkOperation, BulkPreview, ErrorGroups, JobFilter } from "../../client/client.ts";
import { TIME_FIELDS } from "../../core/filter.ts";
import type { Mute } from "../../core/mute.ts";
import type { BulkOperationWire, BulkPreviewWire } from "../contract/bulk.ts";
import type { MuteWire } from "../contract/dead.ts";
import type { AnswerFrom } from "../contract.ts";
import { fieldsToCamelCase, fieldsToSnakeCase, fromTime, fromTimeOrNull, toTime, toTimeOrNull } from "./values.ts";

type ErrorGroupsWire = AnswerFrom<"GET /api/v1/dead/groups">;

export function toOperationWire(operation: BulkOperation): BulkOperationWire {
  return {
    id: operation.id,
    ...toMatchedWire(operation),
    by: operation.by,
    reason: operation.reason,
    status: operation.status,
    processed: operation.processed,
    succeeded: operation.succeeded,
    failed: operation.failed,
    failures: [...operation.failures],
    error: operation.error,
    created_at: toTime(operation.createdAt),
    updated_at: toTime(operation.updatedAt),
    ended_at: toTimeOrNull(operation.endedAt),
  };
}

export function fromOperationWire(wire: BulkOperationWire): BulkOperation {
  return {
    id: wire.id,
    ...fromPreviewWire(wire),
    by: wire.by,
    reason: wire.reason,
    status: wire.status,
    processed: wire.processed,
    succeeded: wire.succeeded,
    failed: wire.failed,
    failures: wire.failures,
    error: wire.error,
    createdAt: fromTime(wire.created_at),
    updatedAt: fromTime(wire.updated_at),
    endedAt: fromTimeOrNull(wire.ended_at),
  };
}

export function toPreviewWire(preview: BulkPreview): BulkPreviewWire {
  return { ...toMatchedWire(preview), dry_run: true };
}

function toMatchedWire(preview: BulkPreview): Omit<BulkPreviewWire, "dry_run"> {
  const { action, filter, groupWords, limit, spread, matched, matchedIsCapped } = preview;
  const words = fieldsToSnakeCase(withTimes(filter, toTime as Turn));
  return { action, filter: words, group_words: groupWords, limit, spread, matched, matched_is_capped: matchedIsCapped };
}

export function fromPreviewWire({ filter, matched_is_capped, ...wire }: Omit<BulkPreviewWire, "dry_run">): BulkPreview {
  const { action, limit, spread, matched } = wire;
  return {
    action,
    filter: withTimes(fromFilterWire(filter), fromTime as Turn),
    // A server of an older version does not send it.
    groupWords: wire.group_words ?? null,
    limit,
    spread,
    matched,
    matchedIsCapped: matched_is_capped,
  };
}

/** A filter as the client takes it. */
export function fromFilterWire(filter: object): JobFilter {
  return fieldsToCamelCase(filter);
}

type Turn = (at: JobFilter["from"]) => string | number;

function withTimes(filter: JobFilter, turned: Turn): JobFilter {
  const times = TIME_FIELDS.filter((name) => filter[name] !== undefined);
  return { ...filter, ...Object.fromEntries(times.map((name) => [name, turned(filter[name])])) };
}

export function toMuteWire({ group, at, until, by, reason }: Mute): MuteWire {
  return { group, at: toTime(at), until: toTimeOrNull(until), by, reason };
}

export function fromMuteWire({ group, at, until, by, reason }: MuteWire): Mute {
  return { group, at: fromTime(at), until: fromTimeOrNull(until), by, reason };
}

export function toErrorGroupsWire({ groups, isCapped, hasMore }: ErrorGroups): ErrorGroupsWire {
  return {
    groups: groups.map(({ group, name, message, count, types, firstSeenAt, firstVersion, lastSeenAt, trend, sampleJobId, muted }) => ({
      group,
      name,
      message,
      count,
      types: [...types],
      first_seen_at: toTime(firstSeenAt),
      first_version: firstVersion,
      last_seen_at: toTime(lastSeenAt),
      trend: [...trend],
      sample_job_id: sampleJobId,
      muted: muted === null ? null : toMuteWire(muted),
    })),
    is_capped: isCapped,
    has_more: hasMore,
  };
}

export function fromErrorGroupsWire({ groups, is_capped, has_more }: ErrorGroupsWire): ErrorGroups {
  return {
    groups: groups.map(
      ({ group, name, message, count, types, first_seen_at, first_version, last_seen_at, trend, sample_job_id, muted }) => ({
        group,
        name,
        message,
        count,
        types,
        firstSeenAt: fromTime(first_seen_at),
        firstVersion: first_version,
        lastSeenAt: fromTime(last_seen_at),
        trend,
        sampleJobId: sample_job_id,
        muted: muted === null ? null : fromMuteWire(muted),
      }),
    ),
    isCapped: is_capped,
    hasMore: has_more,
  };
}
