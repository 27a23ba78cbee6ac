/** Flows: jobs that run after each other. */
import type { Static } from "typebox";
import {
  ALL_OTHERS,
  FLOW_QUEUE,
  FLOW_STATUSES,
  MAX_FLOW_BYTES,
  MAX_FLOW_CALL,
  MAX_FLOWS_PAGE,
  MAX_MEMBERS_PAGE,
  ON_FAILURE,
} from "../../core/flow.ts";
import type { Route } from "./route.ts";
import {
  CallErrorShape,
  closed,
  Count,
  duration,
  Id,
  JOB_FIELDS,
  JOB_TIMES,
  KEY_FIELDS,
  Name,
  nullable,
  oneOf,
  PAGE,
  REASON,
  Status,
  Time,
} from "./schemas.ts";
import { StepName } from "./steps.ts";
import { Type } from "./type.ts";

/** What all members may take besides their payloads: names, what they wait for, options. */
const FLOW_ENVELOPE_BYTES = 8 * 1024 * 1024;
export const MAX_FLOW_BODY_BYTES: number = MAX_FLOW_BYTES + FLOW_ENVELOPE_BYTES;

const MemberInput = closed(
  {
    name: StepName,
    after: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()], {
        description: `the member that must end first, a list of them, or "${ALL_OTHERS}" for all that do not wait for all others themselves`,
      }),
    ),
    on_failure: Type.Optional(
      Type.Union([Type.Enum([...ON_FAILURE])], {
        description: `what it means that one of them ends dead, failed or cancelled: ${ON_FAILURE.join(", ")}. By default this member is cancelled, too`,
      }),
    ),
    type: Name,
    payload: Type.Optional(Type.Unknown()),
    ...JOB_FIELDS,
    ...JOB_TIMES,
  },
  { description: "an object with a name and a type" },
);
export type MemberInputWire = Static<typeof MemberInput>;

const MEMBERS = Type.Array(MemberInput, {
  description: `a list of 1 to ${MAX_FLOW_CALL} members, each with \`name\`, \`after\`, \`on_failure\` and the fields of POST /api/v1/jobs except \`idempotency_key\`, \`key_ttl\` and \`id\`; at most ${MAX_FLOW_BYTES / 1024 / 1024} MiB of payloads`,
});

const FLOW = {
  id: Id,
  status: Type.Enum([...FLOW_STATUSES], {
    description: "failed: nothing more happens by itself, and not all members completed.",
  }),
  key: nullable(Type.String({ description: "Its idempotency key." })),
  members: Count,
  completed: Count,
  failed: Type.Integer({ minimum: 0, description: "Members that are dead or failed." }),
  cancelled: Count,
  open: Type.Integer({ minimum: 0, description: "Members that have not ended." }),
  stuck: Type.Object(
    { count: Count, names: Type.Array(Type.String()) },
    { description: "Members that wait until somebody retries what they wait for: how many, and the first of them." },
  ),
  webhook_url: nullable(Type.String()),
  tags: Type.Array(Type.String()),
  meta: nullable(Type.Record(Type.String(), Type.Unknown())),
  created_at: Time,
  ended_at: nullable(Time),
};

const Flow = Type.Object(FLOW);
export type FlowWire = Static<typeof Flow>;

const Jobs = Type.Record(Type.String(), Type.String(), { description: "The job of each member, by name." });

const CreatedFlow = Type.Object({
  ...FLOW,
  created: Type.Boolean({ description: "false if the idempotency key was in use: then this is the flow that has it." }),
  jobs: Jobs,
});
export type CreatedFlowWire = Static<typeof CreatedFlow>;

const FlowMember = Type.Object({
  name: Type.String(),
  job_id: Id,
  type: Name,
  queue: Type.String(),
  after: Type.Union([Type.Array(Type.String()), Type.Literal(ALL_OTHERS)], {
    description: "The members that it waits for; `*`: all others.",
  }),
  on_failure: Type.Enum([...ON_FAILURE]),
  status: Status,
  attempt: Type.Integer({ minimum: 0, description: "Attempts started." }),
  started_at: nullable(Time),
  ended_at: nullable(Time),
  error: CallErrorShape,
});
export type FlowMemberWire = Static<typeof FlowMember>;

const MemberOutcome = Type.Object({
  name: Type.String(),
  status: Status,
  result: Type.Unknown({ description: "What it returned, if it completed." }),
  error: CallErrorShape,
});
export type MemberOutcomeWire = Static<typeof MemberOutcome>;

const BODY_PROBLEMS = ["invalid_input", "malformed_body", "body_too_large", "unsupported_media_type", "unknown_type"] as const;

export const flowRoutes = {
  "POST /api/v1/flows": {
    summary: "Create a flow: jobs that run after each other. All of it is created, or nothing",
    scope: "enqueue",
    body: closed({
      members: MEMBERS,
      ...KEY_FIELDS,
      webhook_url: JOB_FIELDS.webhook_url,
      tags: JOB_FIELDS.tags,
      meta: JOB_FIELDS.meta,
      id: Type.Optional(
        Type.Union([Id], {
          description: `a UUIDv7 that carries the partition of the queue ${FLOW_QUEUE}; Millrace clients set it, so that a repeated request makes no second flow`,
        }),
      ),
    }),
    checksNamesOnly: true,
    keepsText: { list: "members", fields: ["payload"] },
    maxBody: MAX_FLOW_BODY_BYTES,
    headers: { "Idempotency-Key": "The same as `idempotency_key`." },
    answers: {
      201: { when: "The flow is stored.", is: CreatedFlow, headers: { Location: "Its relative URL." } },
      200: {
        when: "The idempotency key is in use: the flow that has it.",
        is: CreatedFlow,
        headers: { "Idempotent-Replayed": "true" },
      },
    },
    problems: [...BODY_PROBLEMS, "not_found", "key_conflict", "queue_full", "store_full"],
  },
  "GET /api/v1/flows": {
    summary: "List flows, newest first",
    scope: "read",
    query: closed({
      status: Type.Optional(oneOf([...FLOW_STATUSES])),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_FLOWS_PAGE, description: `a whole number from 1 to ${MAX_FLOWS_PAGE}` }),
      ),
      cursor: PAGE.cursor,
    }),
    answers: {
      200: {
        when: `A page, by default of ${MAX_FLOWS_PAGE}.`,
        is: Type.Object({ flows: Type.Array(Flow), next_cursor: nullable(Type.String()) }),
      },
    },
    problems: ["invalid_input", "invalid_cursor"],
  },
  "GET /api/v1/flows/{id}": {
    summary: "Get a flow, or wait until it ends",
    scope: "read",
    query: closed({ wait: Type.Optional(duration('the longest time to wait for the end of the flow, at most "30s"')) }),
    answers: { 200: { when: "The flow, ended or not.", is: Flow } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/flows/{id}/members": {
    summary: "List the members of a flow",
    scope: "read",
    query: closed({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_MEMBERS_PAGE, description: `a whole number from 1 to ${MAX_MEMBERS_PAGE}` }),
      ),
      cursor: PAGE.cursor,
    }),
    answers: {
      200: {
        when: "A page, by default of 100, in an order that does not change.",
        is: Type.Object({ members: Type.Array(FlowMember), next_cursor: nullable(Type.String()) }),
      },
    },
    problems: ["invalid_input", "not_found"],
  },
  "POST /api/v1/flows/{id}/members": {
    summary: "Add members to a running flow",
    scope: "enqueue",
    alsoFor: "work",
    body: closed({ members: MEMBERS }),
    checksNamesOnly: true,
    keepsText: { list: "members", fields: ["payload"] },
    maxBody: MAX_FLOW_BODY_BYTES,
    answers: {
      200: {
        when: "All of them are stored. A member that was there, with the same type, queue and payload, is left as it is; with another: 409.",
        is: Type.Object({ jobs: Jobs }),
      },
    },
    problems: [...BODY_PROBLEMS, "not_found", "key_conflict", "wrong_status", "store_full"],
  },
  "GET /api/v1/flows/{id}/members/{name}/outcomes": {
    summary: "Read how the members ended that this one waits for",
    scope: "read",
    alsoFor: "work",
    query: closed({ cursor: PAGE.cursor }),
    answers: {
      200: {
        when: "Those that have ended. `next_cursor` asks for more.",
        is: Type.Object({ outcomes: Type.Array(MemberOutcome), next_cursor: nullable(Type.String()) }),
      },
    },
    problems: ["invalid_input", "not_found"],
  },
  "POST /api/v1/flows/{id}/cancel": {
    summary: "Cancel a flow: all members that have not ended",
    scope: "admin",
    query: closed(REASON),
    answers: {
      200: {
        when: "Also if it already was. Handlers that run are told to stop; the flow is cancelled when all members have ended.",
        is: Flow,
      },
    },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
  "POST /api/v1/flows/{id}/retry": {
    summary: "Retry the members of a flow that are dead or failed",
    scope: "admin",
    query: closed(REASON),
    answers: {
      200: {
        when: "What their death had cancelled runs again after them. Of a cancelled flow, members that were cancelled are retried, too. If there are none: 409.",
        is: Flow,
      },
    },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
} as const satisfies Record<string, Route>;
