/** A flow from the wire -> the arguments of client.flow. */
import type { FlowMemberInput, FlowOptions } from "../../client/client.ts";
import type { MemberInputWire } from "../contract/flows.ts";
import type { BodyIn } from "../contract.ts";
import { readNewJob } from "./new-job.ts";

/** The options of a flow are some of those of a job, and so is what is wrong with them. */
export function readFlowOptions(body: BodyIn<"POST /api/v1/flows">, header: string | null): FlowOptions {
  const { idempotency_key, key_ttl, webhook_url, tags, meta, id } = body;
  const { options } = readNewJob({ idempotency_key, key_ttl, webhook_url, tags, meta, id }, header);
  const { idempotencyKey: key, ...rest } = options;
  return { ...rest, key };
}

export function readMember({ name, after, on_failure: onFailure, ...job }: MemberInputWire): FlowMemberInput {
  const { payload, options } = readNewJob(job, null);
  return { ...options, name, after: after ?? undefined, onFailure, type: job.type, payload };
}
