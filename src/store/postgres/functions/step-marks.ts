/**
 * What the rare fields of a job (`extra`) say of durable work. They are JSON that we wrote: a quote inside of a string is escaped, so a name with
 * its quotes is found as text, and what comes first is replaced as text.
 */
import { STEPS_MARK } from "../step-tables.ts";

/** Whether a job has or had steps. */
export const hasSteps = (extra: string): string => `starts_with(${extra}, '${STEPS_MARK}')`;

/** Whether another job called it. */
export const hasParent = (extra: string): string => `(strpos(${extra}, '"parent":') > 0)`;

/** These fields of a job without steps, once it has some. */
const withSteps = (extra: string): string =>
  `('${STEPS_MARK}1' || case when ${extra} is null or ${extra} = '{}' then '}' else ',' || substr(${extra}, 2) end)`;

/** The life of a job. */
export const lifeIn = (extra: string): string => `coalesce(substring(${extra} from '^\\${STEPS_MARK}([0-9]+)')::int, 1)`;

/** These fields of a job with steps, after they were forgotten. */
export const withNextLife = (extra: string): string =>
  `regexp_replace(${extra}, '^\\${STEPS_MARK}[0-9]+', '${STEPS_MARK}' || (${lifeIn(extra)} + 1))`;

/** Writes down that these jobs have steps, if that is new. */
export const markSteps = (s: string, ids: string): string =>
  `update ${s}.job set extra = ${withSteps("extra")} where id = any(${ids}) and (${hasSteps("extra")}) is not true`;
