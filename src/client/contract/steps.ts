/** Types of durable work: what handlers keep and wait for, signals, and the steps of a job as people see them. */
import type { Duration } from "../../core/duration.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { ChangeOptions } from "../../core/manual-change.ts";
import type { JsonSchema } from "../../core/payload-schema.ts";
import type { StandardSchemaV1 } from "../../core/standard-schema.ts";
import type { CallError, StepDetail, StepKind, StepState } from "../../core/steps.ts";
import type { DefinitionOf, PayloadAndOptions } from "./jobs.ts";

/** How long to wait for a signal, and what it must be. */
export interface WaitForOptions<Schema extends StandardSchemaV1 | undefined = StandardSchemaV1 | undefined> {
  /** Resolves with null after this time. Default: waits for as long as it takes. */
  readonly timeout?: Duration | undefined;
  /** Any Standard Schema. A signal that does not fit is refused, and the wait goes on. */
  readonly schema?: Schema;
}

/** The options of a called job. */
export type CallOptions = Omit<JobOptions, "idempotencyKey" | "keyTtl">;

/** How long a link works, and what it sends. */
export interface SignalUrlOptions {
  /** From 1 s to 1 year. Default: 7 days. */
  readonly ttl?: Duration | undefined;
  /** The payload of the signal, at most 1 KiB of JSON: `{ approved: true }`. Default: none, so `ctx.waitFor` resolves with undefined. */
  readonly payload?: unknown;
}

type SignalOf<Schema> = Schema extends StandardSchemaV1 ? NonNullable<Schema["~standard"]["types"]>["output"] : unknown;

/** What a handler can keep and wait for. Names are unique in a job: each can be used once in an attempt. */
export interface DurableContext {
  /**
   * Runs a function once, and stores what it returns under this name: a later attempt gets that back without calling the function. Resolves with the
   * JSON of the result, so a Date becomes a string. If the function throws, so does the step. It may run again only if its process died or lost its
   * lease before the result was stored.
   */
  readonly step: <Result>(name: string, run: () => Result) => Promise<Awaited<Result>>;
  /** Goes on after this time. The job holds no slot, no lease and no memory meanwhile. */
  readonly sleep: (name: string, time: Duration) => Promise<void>;
  /** Goes on at this time; at once if it has passed. */
  readonly sleepUntil: (name: string, time: Date | string | number) => Promise<void>;
  /** Waits for `client.signal(job.id, name, payload)` and resolves with the payload, or with null at the timeout. Without a payload: undefined. */
  readonly waitFor: <Schema extends StandardSchemaV1 | undefined = undefined>(
    name: string,
    options?: WaitForOptions<Schema>,
  ) => Promise<SignalOf<Schema> | null>;
  /** Runs another job and waits for its result. Rejects with `CallFailed` if it ends dead, failed or cancelled. */
  readonly call: <Payload = unknown, Result = unknown>(
    name: string,
    type: string | DefinitionOf<Payload, Result>,
    ...payloadAndOptions: PayloadAndOptions<Payload, CallOptions>
  ) => Promise<Result>;
  /** A link that sends this signal, for people without a key: a page with a button. */
  readonly signalUrl: (name: string, options?: SignalUrlOptions) => Promise<string>;
}

/** What happened to a signal. A refused one is no error: `already_received` another one came first; `timed_out` the job waits no longer. */
export type SignalAnswer = { readonly accepted: true } | { readonly accepted: false; readonly reason: "already_received" | "timed_out" };

/** How to send a signal. One that names who sent it (`by`, or the `actor` of the client) is written to the audit. */
export interface SignalOptions extends ChangeOptions {
  /** Identifies the signal: one that is sent again with the same id is accepted again. At most 128 characters. Default: random. */
  readonly id?: string | undefined;
}

/** A step of a job. Times are milliseconds since the epoch. */
export interface JobStep {
  readonly name: string;
  /** `step`: the result of a function. `wait`: for a signal. */
  readonly kind: StepKind;
  readonly state: StepState;
  /** The result, or the payload of the signal. */
  readonly value: unknown;
  /** Why a call failed. */
  readonly error: CallError | null;
  /** When a sleep or a wait ends by itself. */
  readonly until: number | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** What ended it: the id of a signal, or the id and the fence of a called job. */
  readonly by: string | null;
  /** The attempt in which it began. */
  readonly attempt: number;
  /** How long the function ran. */
  readonly runMs: number | null;
  /** The called job. */
  readonly call: NonNullable<StepDetail["call"]> | null;
  /** The JSON Schema of the payload of the signal; null if the wait has none. */
  readonly schema: JsonSchema | null;
  /** Signals that did not fit the schema of the wait. */
  readonly refused: NonNullable<StepDetail["refused"]>;
}
