/** Filters and pages -> query strings, and jobs by filter. */
import type { DeadLetters, JobCount, JobFilter, JobPage, ListJobs } from "../../client/client.ts";
import { readGroup } from "../../core/error-group.ts";
import { invalid, MillraceError } from "../../core/errors.ts";
import { FIELD_VALUE_RULE, readField, readFieldValue } from "../../core/facets.ts";
import type { AnswerFrom } from "../contract.ts";
import { fromErrorGroupsWire, fromMuteWire } from "../wire/bulk.ts";
import { fromSummaryWire } from "../wire/job.ts";
import { toMoment, toSnakeCase } from "../wire/values.ts";
import { changeQuery } from "./change-query.ts";
import type { Transport } from "./transport.ts";
import { wireText } from "./wire-text.ts";

export async function listJobs(transport: Transport, query: ListJobs | undefined): Promise<JobPage> {
  const { body } = await transport.ask("GET /api/v1/jobs", { query: queryOf(query, "a list of jobs"), repeatable: true });
  return toPage(body);
}

/** A page of one job, with the total. */
export async function countJobs(transport: Transport, filter: JobFilter | undefined): Promise<JobCount> {
  const query = { ...queryOf(filter, "a filter of jobs"), limit: "1", total: "true" };
  const { body } = await transport.ask("GET /api/v1/jobs", { query, repeatable: true });
  return { count: body.total ?? 0, isCapped: body.total_is_capped };
}

export function createRemoteDead(transport: Transport): DeadLetters {
  const what = "a filter of dead letters";
  return {
    async list(query) {
      const { body } = await transport.ask("GET /api/v1/dead", { query: queryOf(query, "a list of dead letters"), repeatable: true });
      return toPage(body);
    },
    async groups(filter) {
      const { body } = await transport.ask("GET /api/v1/dead/groups", { query: queryOf(filter, what), repeatable: true });
      return fromErrorGroupsWire(body);
    },
    async retry(filter, options) {
      const { query } = changeQuery(options, "the options of a change");
      const { body } = await transport.ask("POST /api/v1/dead/retry", { query, body: filterText(filter, what), repeatable: false });
      return body.retried;
    },
    async purge(filter, options) {
      const query = { ...queryOf(filter, what), ...changeQuery(options, "the options of a change").query };
      const { body } = await transport.ask("DELETE /api/v1/dead", { query, repeatable: false });
      return body.purged;
    },
    async mute(group, options) {
      const { query, given } = changeQuery(options, "the options of a mute", ["for"]);
      const asked = { params: { group: readGroup(group) }, query, body: wireText(given), repeatable: true };
      return fromMuteWire((await transport.ask("POST /api/v1/dead/groups/{group}/mute", asked)).body);
    },
    async unmute(group, options) {
      const { query } = changeQuery(options, "the options of a change");
      const asked = { params: { group: readGroup(group) }, query, repeatable: false };
      return (await transport.ask("POST /api/v1/dead/groups/{group}/unmute", asked)).body.unmuted;
    },
    async mutes() {
      return (await transport.ask("GET /api/v1/dead/mutes", { repeatable: true })).body.mutes.map(fromMuteWire);
    },
  };
}

function toPage({ jobs, next_cursor }: AnswerFrom<"GET /api/v1/jobs">): JobPage {
  return { jobs: jobs.map(fromSummaryWire), cursor: next_cursor };
}

export function filterText(filter: JobFilter | undefined, what: string): string {
  const given = readObject(filter, what);
  return wireText(Object.fromEntries(Object.entries(given).map(([name, value]) => [name, toMoment(value)])));
}

/** Refuses values that a query string cannot hold: as text, they would mean something else. */
export function queryOf(input: object | null | undefined, what: string): Record<string, string | readonly string[] | undefined> {
  return Object.fromEntries(
    Object.entries(readObject(input, what)).flatMap(([name, given]) => {
      const value = toMoment(given);
      if (value === undefined || value === null) return [];
      if (name === "cursor" && typeof value !== "string") {
        throw new MillraceError("invalid_cursor", "cursor must be one that this list returned", { field: "cursor" });
      }
      return [[toSnakeCase(name), name === "where" ? pairTexts(value) : paramText(name, value)]];
    }),
  );
}

/** Payload fields as a query has them: `customer:globex`. */
function pairTexts(where: unknown): string[] {
  return Object.entries(readObject(where as object, "where")).map(([field, value]) => {
    const name = readField(field, "where");
    if (readFieldValue(value) === undefined) throw invalid(`where.${name}`, FIELD_VALUE_RULE, value);
    return `${name}:${String(value)}`;
  });
}

const TEXTS = new Set(["type", "queue", "tag", "limitKey", "flow", "q", "cursor", "group", "sort", "by", "action", "jobId"]);
const NUMBERS = new Set(["limit", "after", "count"]);

function paramText(name: string, value: unknown): string {
  if (name === "status" && Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string"))
    return value.join(",");
  const isText = typeof value === "string" && !NUMBERS.has(name);
  const isNumber = typeof value === "number" && !TEXTS.has(name);
  if (isText || isNumber || typeof value === "boolean") return String(value);
  throw invalid(name, NUMBERS.has(name) ? "a whole number" : TEXTS.has(name) ? "a string" : "a string, a number or a Date", value);
}

function readObject(input: object | null | undefined, what: string): object {
  if (input === undefined || input === null) return {};
  if (typeof input !== "object" || Array.isArray(input)) throw invalid(what, "an object", input);
  return input;
}
