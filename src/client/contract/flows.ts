/** Types of flows: jobs that run after each other. */
import type { FlowStatus, OnFailure } from "../../core/flow.ts";
import type { Duration } from "../../core/duration.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { Status } from "../../core/job.ts";
import type { ChangeOptions } from "../../core/manual-change.ts";
import type { CallError } from "../../core/steps.ts";
import type { GivenId, JobInput } from "./jobs.ts";
import type { ItemsOf, JobsByName } from "./registered-jobs.ts";

/** What a member of a flow has besides what its job has. */
export interface MemberFields {
  /** Unique in its flow: 1 to 128 characters. */
  readonly name: string;
  /** The members that must end first: a name, a list of names, or `"*"` for all members that do not wait for all others themselves. */
  readonly after?: string | readonly string[] | undefined;
  /**
   * What it means that one of them ends dead, failed or cancelled. `cancel` (default): this member is cancelled, too. `run`: it runs, and sees the
   * outcome. `wait`: it waits until somebody has retried that one.
   */
  readonly onFailure?: OnFailure | undefined;
}

/** Options of the job of a member. A flow has one idempotency key; its members have none. */
export type MemberOptions = Omit<JobOptions, "idempotencyKey" | "keyTtl">;

/** A member of a flow. `{ name, after, ...definition.job(payload, options) }` makes one with a typed payload. */
export interface FlowMemberInput<Name extends string = string>
  extends MemberFields, MemberOptions, Pick<JobInput<Name>, "type" | "payload" | "unset"> {}

/** Members, each with the payload of its definition or name. */
export type MembersOf<Jobs extends JobsByName, Kinds extends readonly unknown[]> = {
  readonly [Index in keyof Kinds]: MemberFields & Omit<ItemsOf<Jobs, Kinds>[Index], "idempotencyKey" | "keyTtl" | "id">;
};

/** Options of a flow. */
export interface FlowOptions extends GivenId {
  /** A flow with this key is created once: the same call again returns it. At most 255 bytes. */
  readonly key?: string | undefined;
  /** How long the key is kept after the flow completed or was cancelled. Default: 24 h. */
  readonly keyTtl?: Duration | undefined;
  /** Told when the flow completed or failed. */
  readonly webhookUrl?: string | null | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | null | undefined;
  /** Your open transaction: the flow exists if and when you commit. Its jobs follow within a second. */
  readonly tx?: unknown;
}

/** A flow, and how many of its members ended how. */
export interface Flow {
  readonly id: string;
  /** `failed`: nothing more happens by itself, and not all members completed. */
  readonly status: FlowStatus;
  readonly key: string | null;
  readonly members: number;
  readonly completed: number;
  /** Dead or failed. */
  readonly failed: number;
  readonly cancelled: number;
  /** Not ended yet. */
  readonly open: number;
  /** Members with `onFailure: "wait"` that wait until somebody retries what they wait for: how many, and the first of them. */
  readonly stuck: { readonly count: number; readonly names: readonly string[] };
  readonly webhookUrl: string | null;
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

/** The flow that `client.flow` returns. */
export interface CreatedFlow extends Flow {
  /** False if the key was known: then this is the flow stored under it. */
  readonly created: boolean;
  /** The jobs of the members, by name. */
  readonly jobs: Readonly<Record<string, string>>;
}

/** A member as people see it. */
export interface FlowMember {
  readonly name: string;
  /** Its job. A job that ended long ago may be gone. */
  readonly jobId: string;
  readonly type: string;
  readonly queue: string;
  readonly after: readonly string[] | "*";
  readonly onFailure: OnFailure;
  readonly status: Status;
  readonly attempt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly error: CallError | null;
}

/** How a member ended. */
export interface MemberOutcome {
  readonly name: string;
  readonly status: Status;
  /** What it returned, if it completed. */
  readonly result: unknown;
  readonly error: CallError | null;
}

/** Which flows to list. */
export interface ListFlows {
  readonly status?: FlowStatus | undefined;
  /** 1 to 100; default 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | null | undefined;
}

/** Flows, and where the next page starts. */
export interface FlowPage {
  readonly flows: Flow[];
  readonly cursor: string | null;
}

/** Members of a flow, and where the next page starts. */
export interface MemberPage {
  readonly members: FlowMember[];
  readonly cursor: string | null;
}

/** Operations on flows. */
export interface Flows {
  /** The flow, or null. */
  get(id: string): Promise<Flow | null>;
  /** Newest first. */
  list(query?: ListFlows): Promise<FlowPage>;
  /** The members, in an order that does not change: 1 to 1,000 of them, default 100. */
  members(id: string, page?: { readonly limit?: number | undefined; readonly cursor?: string | null | undefined }): Promise<MemberPage>;
  /** How the members ended that this one waits for: those that have ended. About 4 MiB of results at once; `cursor` asks for the next ones. */
  outcomes(
    id: string,
    name: string,
    page?: { readonly cursor?: string | null | undefined },
  ): Promise<{ readonly outcomes: MemberOutcome[]; readonly cursor: string | null }>;
  /**
   * Adds members to a running flow; returns their jobs by name. A member that is there already, with the same type, queue and payload, is left as it is:
   * so a handler that adds members can run again.
   */
  add(id: string, members: readonly FlowMemberInput[]): Promise<Readonly<Record<string, string>>>;
  /** Cancels all members that have not ended. Cancelling a cancelled flow succeeds. */
  cancel(id: string, options?: ChangeOptions): Promise<Flow>;
  /** Retries all members that are dead or failed; of a cancelled flow also those that were cancelled. What their death had cancelled runs again after them. */
  retry(id: string, options?: ChangeOptions): Promise<Flow>;
  /** Resolves with the flow once it has ended; fails with `wait_timeout` after `timeout` (default 30 s). */
  wait(id: string, options?: { readonly timeout?: Duration | undefined; readonly signal?: AbortSignal | undefined }): Promise<Flow>;
}

/** The flow of a handler's job. Its calls fail with `not_found` if the job is in no flow. */
export interface FlowContext {
  /** Null if the job is in no flow. */
  readonly id: string | null;
  /** The name of this member. */
  readonly name: string | null;
  /** The results of the members that this one waited for, by name: of those that completed. At most 8 MiB; `each` has no such bound. */
  results(): Promise<Readonly<Record<string, unknown>>>;
  /** How a member ended that this one waited for; null if it did not wait for one of that name. */
  outcome(name: string): Promise<MemberOutcome | null>;
  /** How all of them ended, one after the other. */
  each(): AsyncIterable<MemberOutcome>;
  /** Adds members to the flow, which run after what they name. Returns their jobs by name. */
  add(members: readonly FlowMemberInput[]): Promise<Readonly<Record<string, string>>>;
}
