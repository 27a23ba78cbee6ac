/** Limits of queues and of limit keys, and how much of them is used. */
import type { Static } from "typebox";
import { BUSIEST_KEYS, MAX_LIMIT_KEY_BYTES, MAX_RUNNING_LIMIT, MAX_WAITING_LIMIT, MAX_WEIGHT } from "../../core/limits.ts";
import { MAX_RATE_UNITS, RATE_RULE } from "../../core/rate.ts";
import { LIMIT_KEY_RULE } from "../../core/read-text.ts";
import type { Route } from "./route.ts";
import { closed, Count, CREATE, Id, Message, Name, nullable, PAGE, REASON, Time } from "./schemas.ts";
import { Type } from "./type.ts";

/** A limit that may be removed: null for none. */
function most(maximum: number, of: string) {
  return Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum }), Type.Null()], {
      description: `how many ${of}, a whole number from 1 to ${maximum}, or null for no limit`,
    }),
  );
}

const STARTS = {
  running: most(MAX_RUNNING_LIMIT, "jobs may run at once"),
  rate: Type.Optional(Type.Union([Type.String({ maxLength: 40 }), Type.Null()], { description: `${RATE_RULE}, or null for no limit` })),
  burst: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: MAX_RATE_UNITS }), Type.Null()], {
      description: `how many units of the rate may start at once after a rest, a whole number from 1 to ${MAX_RATE_UNITS}; 1 by default`,
    }),
  ),
};
const OF_A_KEY = { ...STARTS, waiting: most(MAX_WAITING_LIMIT, "jobs of a key may wait") };
const WEIGHT = {
  weight: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_WEIGHT,
      description: `how many turns the key gets in comparison with others, a whole number from 1 to ${MAX_WEIGHT}; 1 by default`,
    }),
  ),
};

/** The limits of a queue, as callers send them. */
export const LimitsInput = closed(
  {
    ...STARTS,
    per_key: Type.Optional(
      Type.Union([closed(OF_A_KEY), Type.Null()], {
        description: "an object of running, rate, burst and waiting for each limit key, or null for none",
      }),
    ),
  },
  { description: "an object of running, rate, burst and per_key" },
);
export type LimitsInputWire = Static<typeof LimitsInput>;

const SHOWN_STARTS = {
  running: nullable(Count),
  rate: nullable(Type.String()),
  burst: nullable(Count),
};

/** The limits of a queue, as answers show them. */
export const LimitsShape = Type.Object(
  { ...SHOWN_STARTS, per_key: Type.Object({ ...SHOWN_STARTS, waiting: nullable(Count) }) },
  { description: "How many jobs may run at once and start in a time; null for each limit that it does not have." },
);
export type LimitsWire = Static<typeof LimitsShape>;

const OwnInput = closed({ ...OF_A_KEY, ...WEIGHT });
const OwnLimits = Type.Object(
  {
    running: Type.Optional(nullable(Count)),
    rate: Type.Optional(nullable(Type.String())),
    burst: Type.Optional(Count),
    waiting: Type.Optional(nullable(Count)),
    weight: Type.Optional(Count),
  },
  { description: "Limits of its own: null means no limit, and what is left out is as for every key." },
);

/** A limit key. */
export const LimitKey = Type.String({ minLength: 1, maxLength: MAX_LIMIT_KEY_BYTES, description: LIMIT_KEY_RULE });

const KEY_USE = {
  key: LimitKey,
  running: Count,
  waiting: Type.Integer({ minimum: 0, description: "Jobs that are pending, scheduled or retrying. Jobs are counted up to 10,000." }),
  limits: Type.Object(
    { ...SHOWN_STARTS, waiting: nullable(Count), weight: Count },
    { description: "The limits that hold for it: its own, or those of the queue for each key." },
  ),
  own: nullable(OwnLimits),
  held_until: Type.Union([Time, Type.Null()], { description: "Until when a handler holds it; null if none does." }),
  next_start_at: Type.Union([Time, Type.Null()], {
    description: "When its rate and its hold let the next job of cost 1 start; null if they would let it start now.",
  }),
  holders: Type.Array(Id, { description: "Some of its running jobs, at most 10." }),
};
const KeyUse = Type.Object(KEY_USE);
export type KeyUseWire = Static<typeof KeyUse>;

const Use = Type.Object({
  queue: Name,
  limits: nullable(LimitsShape),
  running: Type.Integer({ minimum: 0, description: "Jobs of the queue that run now." }),
  next_start_at: Type.Union([Time, Type.Null()], {
    description: "When the rate of the queue lets the next job of cost 1 start; null if it would let it start now.",
  }),
  keys: Type.Array(KeyUse, {
    description: `At most ${BUSIEST_KEYS} keys: those with the most running jobs first, then keys with waiting jobs.`,
  }),
});
export type LimitUseWire = Static<typeof Use>;

const Own = Type.Object({ queue: Name, key: nullable(LimitKey), limits: OwnLimits });
const WithoutKey = Type.Object({ queue: Name, key: Type.Null(), limits: nullable(OwnLimits) });
const Removed = Type.Object({ ...Message, queue: Name, key: nullable(LimitKey) });
const CHANGE_PROBLEMS = ["invalid_input", "not_found", "malformed_body", "unsupported_media_type"] as const;

export const limitRoutes = {
  "GET /api/v1/queues/{queue}/limits": {
    summary: "Get the limits of a queue, and how much of them is used",
    scope: "read",
    answers: { 200: { when: "The limits, their use and the busiest limit keys.", is: Use } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/queues/{queue}/limits/keys": {
    summary: "List the limit keys that have limits of their own",
    scope: "read",
    query: closed({ limit: PAGE.limit, cursor: PAGE.cursor }),
    answers: {
      200: {
        when: "By key; the jobs without a key come first, with null as the key.",
        is: Type.Object({
          keys: Type.Array(Type.Object({ key: nullable(LimitKey), limits: OwnLimits })),
          next_cursor: nullable(Type.String()),
        }),
      },
    },
    problems: ["invalid_input", "invalid_cursor"],
  },
  "GET /api/v1/queues/{queue}/limits/keys/{key}": {
    summary: "Get the limits of a limit key, and how much of them is used",
    scope: "read",
    answers: {
      200: {
        when: `The key is URL-encoded, ${MAX_LIMIT_KEY_BYTES} bytes at most before that. A key that nobody has used yet is answered, too. No URL can name the keys "." and "..".`,
        is: Type.Object({ queue: Name, ...KEY_USE }),
      },
    },
    problems: ["invalid_input", "not_found"],
  },
  "PUT /api/v1/queues/{queue}/limits/keys/{key}": {
    summary: "Give a limit key limits of its own; they replace the ones before",
    scope: "admin",
    query: CREATE,
    body: OwnInput,
    answers: { 200: { when: "They hold from the next claim on.", is: Own } },
    problems: CHANGE_PROBLEMS,
  },
  "DELETE /api/v1/queues/{queue}/limits/keys/{key}": {
    summary: "Remove the limits that a limit key has of its own",
    scope: "admin",
    query: closed(REASON),
    answers: { 200: { when: "Those of the queue for each key hold again.", is: Removed } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/queues/{queue}/limits/without-key": {
    summary: "Get the weight of the jobs without a limit key",
    scope: "read",
    answers: { 200: { when: "The limits are null if nobody has set a weight.", is: WithoutKey } },
    problems: ["invalid_input"],
  },
  "PUT /api/v1/queues/{queue}/limits/without-key": {
    summary: "Set the weight of the jobs without a limit key, which take turns as if they had one key",
    scope: "admin",
    query: CREATE,
    body: closed(WEIGHT),
    answers: { 200: { when: "It holds from the next claim on.", is: Own } },
    problems: CHANGE_PROBLEMS,
  },
  "DELETE /api/v1/queues/{queue}/limits/without-key": {
    summary: "Remove the weight of the jobs without a limit key: it is 1 again",
    scope: "admin",
    query: closed(REASON),
    answers: { 200: { when: "Removed.", is: Removed } },
    problems: ["invalid_input", "not_found"],
  },
} as const satisfies Record<string, Route>;
