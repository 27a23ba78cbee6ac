/** Why a job is not running, on the wire, both ways. */
import type { Reason } from "../../core/explain.ts";
import type { AnswerFrom } from "../contract.ts";
import { fromTime, fromTimeOrNull, toTime, toTimeOrNull } from "./values.ts";

type ReasonWire = AnswerFrom<"GET /api/v1/jobs/{id}/explain">["reasons"][number];

export function toReasonWire(reason: Reason): ReasonWire {
  const { code, message } = reason;
  switch (code) {
    case "due_later":
    case "overdue":
      return { ...reason, at: toTime(reason.at) };
    case "ended":
      return { ...reason, at: toTimeOrNull(reason.at) };
    case "running":
      return { code, message, worker_id: reason.workerId, started_at: toTimeOrNull(reason.startedAt) };
    case "position":
      return { code, message, ahead: reason.ahead, ahead_is_capped: reason.aheadIsCapped };
    case "key_held":
      return { code, message, queue: reason.queue, limit_key: reason.limitKey, until: toTime(reason.until) };
    case "limit_running":
      return {
        code,
        message,
        queue: reason.queue,
        limit_key: reason.limitKey,
        limit: reason.limit,
        running: reason.running,
        holders: [...reason.holders],
      };
    case "limit_rate":
      return { code, message, queue: reason.queue, limit_key: reason.limitKey, rate: reason.rate, until: toTime(reason.until) };
    case "waits_for_signal":
      return { ...reason, until: toTimeOrNull(reason.until) };
    case "waits_for_call":
      return { code, message, step: reason.step, job_id: reason.jobId, type: reason.type };
    case "waits_for_members":
      return { code, message, flow_id: reason.flowId, names: [...reason.names] };
    case "sleeps":
      return { ...reason, until: toTime(reason.until) };
    default:
      return reason;
  }
}

export function fromReasonWire(wire: ReasonWire): Reason {
  const { code, message } = wire;
  switch (code) {
    case "due_later":
    case "overdue":
      return { ...wire, at: fromTime(wire.at) };
    case "ended":
      return { ...wire, at: fromTimeOrNull(wire.at) };
    case "running":
      return { code, message, workerId: wire.worker_id, startedAt: fromTimeOrNull(wire.started_at) };
    case "position":
      return { code, message, ahead: wire.ahead, aheadIsCapped: wire.ahead_is_capped };
    case "key_held":
      return { code, message, queue: wire.queue, limitKey: wire.limit_key, until: fromTime(wire.until) };
    case "limit_running":
      return {
        code,
        message,
        queue: wire.queue,
        limitKey: wire.limit_key,
        limit: wire.limit,
        running: wire.running,
        holders: wire.holders,
      };
    case "limit_rate":
      return { code, message, queue: wire.queue, limitKey: wire.limit_key, rate: wire.rate, until: fromTime(wire.until) };
    case "waits_for_signal":
      return { ...wire, until: fromTimeOrNull(wire.until) };
    case "waits_for_call":
      return { code, message, step: wire.step, jobId: wire.job_id, type: wire.type };
    case "waits_for_members":
      return { code, message, flowId: wire.flow_id, names: wire.names };
    case "sleeps":
      return { ...wire, until: fromTime(wire.until) };
    default:
      return wire;
  }
}
