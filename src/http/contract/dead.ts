/** Dead letters: jobs that failed for good and wait for somebody to act. */
import type { Static } from "typebox";
import { TREND_HOURS } from "../../core/error-tally.ts";
import { MUTE_RULE } from "../../core/mute.ts";
import type { Route } from "./route.ts";
import { ACTOR, closed, Count, duration, Id, JOB_FILTER, JobPage, Message, nullable, PAGE, REASON, Time } from "./schemas.ts";
import { Type } from "./type.ts";

const Mute = Type.Object({
  group: Type.String(),
  at: Time,
  until: nullable(Time),
  ...ACTOR,
});
export type MuteWire = Static<typeof Mute>;

const ErrorGroups = Type.Object({
  groups: Type.Array(
    Type.Object({
      group: Type.String({ description: "The value for the filter group." }),
      name: Type.String(),
      message: Type.String({ description: "The message of the job that died last." }),
      count: Count,
      types: Type.Array(Type.String(), { description: "At most 20." }),
      first_seen_at: Time,
      first_version: nullable(
        Type.String({
          description: "The version of the application that the first of these jobs failed with; null if its worker had none.",
        }),
      ),
      last_seen_at: Time,
      trend: Type.Array(Count, {
        description: `How many died in each of the last ${TREND_HOURS} hours, the earliest first: the last hour ends now.`,
      }),
      sample_job_id: Id,
      muted: nullable(Mute),
    }),
  ),
  is_capped: Type.Boolean({ description: "There are more dead letters than were read: every count means at least that many." }),
  has_more: Type.Boolean({ description: "There are more groups than are shown." }),
});

export const deadRoutes = {
  "GET /api/v1/dead": {
    summary: "List dead letters, latest death first",
    scope: "read",
    query: closed({ ...JOB_FILTER, ...PAGE }),
    answers: { 200: { when: "A page.", is: JobPage } },
    problems: ["invalid_input", "invalid_cursor"],
  },
  "GET /api/v1/dead/groups": {
    summary: "List dead letters by error, the largest group first, muted ones last",
    scope: "read",
    query: closed(JOB_FILTER),
    answers: { 200: { when: "At most 100 groups, of the 10,000 jobs that died last.", is: ErrorGroups } },
    problems: ["invalid_input"],
  },
  "GET /api/v1/dead/mutes": {
    summary: "List muted error groups, the latest first",
    scope: "read",
    answers: { 200: { when: "All of them, whether they have jobs or not.", is: Type.Object({ mutes: Type.Array(Mute) }) } },
    problems: [],
  },
  "POST /api/v1/dead/groups/{group}/mute": {
    summary: "Mute an error group: its jobs stay dead letters, but need no attention",
    scope: "admin",
    query: closed(REASON),
    body: closed({ for: Type.Optional(duration(`${MUTE_RULE}; by default, until somebody unmutes it`)) }),
    bodyIsOptional: true,
    answers: { 200: { when: "Muted. An earlier mute of the group is replaced.", is: Mute } },
    problems: ["invalid_input", "malformed_body", "unsupported_media_type"],
  },
  "POST /api/v1/dead/groups/{group}/unmute": {
    summary: "Unmute an error group",
    scope: "admin",
    query: closed(REASON),
    answers: {
      200: { when: "Not muted any more, or it was not.", is: Type.Object({ ...Message, group: Type.String(), unmuted: Type.Boolean() }) },
    },
    problems: ["invalid_input"],
  },
  "DELETE /api/v1/dead": {
    summary: "Delete dead letters: all, or those that match",
    scope: "admin",
    query: closed({ ...JOB_FILTER, ...REASON }),
    answers: { 200: { when: "Deleted.", is: Type.Object({ ...Message, purged: Count }) } },
    problems: ["invalid_input"],
  },
  "POST /api/v1/dead/retry": {
    summary: "Retry dead letters: all, or those that match",
    scope: "admin",
    query: closed(REASON),
    body: closed(JOB_FILTER),
    bodyIsOptional: true,
    answers: { 200: { when: "The jobs are pending.", is: Type.Object({ ...Message, retried: Count }) } },
    problems: ["invalid_input", "malformed_body", "unsupported_media_type"],
  },
} as const satisfies Record<string, Route>;
