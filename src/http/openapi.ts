/** THE OPENAPI DOCUMENT (3.1), made from the contract, whose schemas are JSON Schema. */
import type { TSchema } from "typebox";
import { LimitKey } from "./contract/limits.ts";
import { type AnswerKind, type Route, scopeWords, USUAL_PROBLEMS } from "./contract/route.ts";
import { Id, Job, JobPage, JobSummary, Name, NewJob, Problem } from "./contract/schemas.ts";
import { StepName } from "./contract/steps.ts";
import { FAMILIES, splitName } from "./contract.ts";
import { type ProblemCode, PROBLEMS } from "./problem-codes.ts";

/** Shapes with a name in the document. */
const NAMED = new Map<unknown, string>([
  [Job, "Job"],
  [JobSummary, "JobSummary"],
  [JobPage, "JobPage"],
  [NewJob, "NewJob"],
  [Problem, "Problem"],
]);

type Json = Record<string, unknown>;

let made: string | null = null;

/** The document as JSON text; made once. */
export function openApiText(version: string): string {
  made ??= JSON.stringify(openApiDocument(version));
  return made;
}

export function openApiDocument(version: string): Json {
  const paths: Record<string, Json> = {};
  for (const { name: family, routes } of FAMILIES) {
    for (const [name, route] of Object.entries(routes) as [string, Route][]) {
      const { method, path } = splitName(name);
      (paths[path] ??= {})[method.toLowerCase()] = operation(name, family, route);
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace",
      version,
      description:
        "A job queue. JSON in snake_case; times are ISO 8601 in UTC; durations are milliseconds, or strings such as 30s, 5m, 2h, 1d.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "." }],
    tags: FAMILIES.map(({ name }) => ({ name })),
    security: [{ key: [] }, { bearer: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: "apiKey", in: "header", name: "X-API-Key" }, bearer: { type: "http", scheme: "bearer" } },
      schemas: Object.fromEntries([...NAMED].map(([schema, name]) => [name, inlined(schema, schema)])),
    },
  };
}

function operation(name: string, family: string, route: Route): Json {
  const { path } = splitName(name);
  return {
    operationId: operationId(name),
    tags: [family],
    summary: route.summary,
    description: route.scope === "open" ? "Needs no key." : `Needs the scope ${scopeWords(route)}.`,
    ...(route.scope === "open" ? { security: [] } : {}),
    parameters: [...pathParameters(path), ...queryParameters(route), ...headerParameters(route)],
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: route.bodyIsOptional !== true, content: { "application/json": { schema: inlined(route.body) } } } }),
    responses: { ...successes(route), ...refusals(route) },
  };
}

/** `postApiV1JobsByIdCancel` */
function operationId(name: string): string {
  const words = name
    .replace(/\{(\w+)\}/g, "by-$1")
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "");
  return words.map((word, index) => (index === 0 ? word.toLowerCase() : word[0]!.toUpperCase() + word.slice(1))).join("");
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: inlined(pathSchema(path, name!)),
  }));
}

function pathSchema(path: string, name: string): TSchema {
  if (name === "id") return Id;
  if (name === "key") return LimitKey;
  return /\/(signals|members)\/\{name\}/.test(path) ? StepName : Name;
}

function queryParameters({ query }: Route): Json[] {
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => {
    const { description, type } = schema as { description?: string; type?: string };
    return {
      name,
      in: "query",
      required: false,
      ...(type === "array" ? { style: "form", explode: false } : {}),
      description,
      schema: inlined(schema),
    };
  });
}

function headerParameters({ headers = {} }: Route): Json[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string" },
  }));
}

function successes({ answers }: Route): Json {
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, success(answer)]));
}

function success({ when, is, mediaType = "application/json", headers = {} }: AnswerKind): Json {
  const schema = is === undefined ? { type: "string" } : inlined(is);
  const described = Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }]);
  return {
    description: when,
    ...(described.length === 0 ? {} : { headers: Object.fromEntries(described) as Json }),
    content: { [mediaType]: { schema } },
  };
}

/** Problems by status: several codes may share one. */
function refusals({ scope, problems = [], answers, inputStatus }: Route): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set([...problems, ...(scope === "open" ? [] : USUAL_PROBLEMS)])) {
    const status = inputStatus !== undefined && (code === "invalid_input" || code === "unknown_type") ? inputStatus : PROBLEMS[code].status;
    if (!(status in answers)) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(" "),
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    ]),
  );
}

/** A plain copy of a schema, with references to the named shapes. */
function inlined(schema: unknown, top?: unknown): unknown {
  const name = NAMED.get(schema);
  if (name !== undefined && schema !== top) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(schema)) return schema.map((item) => inlined(item));
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema as TSchema).map(([key, inner]) => [key, inlined(inner)]));
}
