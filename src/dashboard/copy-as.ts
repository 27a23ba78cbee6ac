/** THE SAME JOB AS CODE: how to enqueue it with curl, on the command line, or in TypeScript. */
import { formatDuration } from "../core/duration.ts";
import { type JobSummary, USUAL_JOB, usualMaxLost } from "../core/job.ts";
import { jsonOf, payloadOf } from "../core/json-text.ts";
import type { EnqueueOptions } from "./api.ts";
import { priorityName } from "./parts/priority.tsx";
import { API_URL } from "./places.ts";

export interface JobRequest {
  readonly type: string;
  readonly payload: unknown;
  readonly options: EnqueueOptions;
}

/** The request for a job like this one, without defaults, and without its key, which would return this very job. */
export function requestLike(job: JobSummary & { readonly payload: unknown }): JobRequest {
  const options: EnqueueOptions = {
    ...(job.queue === "default" ? {} : { queue: job.queue }),
    ...(job.priority === 0 ? {} : { priority: priorityName(job.priority) }),
    ...(job.maxRetries === USUAL_JOB.maxRetries ? {} : { maxRetries: job.maxRetries }),
    ...(job.maxLost === usualMaxLost(job.maxRetries) ? {} : { maxLost: job.maxLost }),
    ...(job.retryDelay === USUAL_JOB.retryDelay ? {} : { retryDelay: job.retryDelay }),
    ...(job.timeout === USUAL_JOB.timeout ? {} : { timeout: job.timeout }),
    ...(job.tags.length === 0 ? {} : { tags: job.tags }),
    ...(job.meta === null ? {} : { meta: job.meta }),
    ...(job.webhookUrl === null ? {} : { webhookUrl: job.webhookUrl }),
  };
  return { type: job.type, payload: payloadOf(job), options };
}

const SERVER = API_URL.href.replace(/\/$/, "");

/** The API key comes from the environment: in the command, it would end up in the shell's history. */
export function asCurl({ type, payload, options }: JobRequest): string {
  const others = JSON.stringify(Object.fromEntries(Object.entries(options).map(([name, value]) => [snakeCase(name), value])));
  const body = `{"type":${JSON.stringify(type)},"payload":${jsonOf(payload)}${others === "{}" ? "}" : `,${others.slice(1)}`}`;
  return [
    `curl ${quote(`${SERVER}/api/v1/jobs`)}`,
    `--header "X-API-Key: $API_KEY"`,
    "--header 'Content-Type: application/json'",
    `--data ${quote(body)}`,
  ].join(" \\\n  ");
}

export function asCommand({ type, payload, options }: JobRequest): string {
  const { tags = [], meta, idempotencyKey, runAt, ...plain } = options;
  const flags = [
    ...Object.entries(plain).flatMap(([name, value]) => (value === undefined ? [] : [`--${dashed(name)} ${quote(flagText(name, value))}`])),
    ...(runAt === undefined || runAt === null ? [] : [`--run-at ${quote(new Date(runAt).toISOString())}`]),
    ...(idempotencyKey === undefined ? [] : [`--key ${quote(idempotencyKey)}`]),
    ...tags.map((tag) => `--tag ${quote(tag)}`),
    ...(meta === undefined || meta === null ? [] : [`--meta ${quote(JSON.stringify(meta))}`]),
    `--url ${quote(SERVER)}`,
  ];
  return [`millrace enqueue ${quote(type)} ${quote(jsonOf(payload))}`, ...flags].join(" \\\n  ");
}

export function asTypeScript({ type, payload, options }: JobRequest): string {
  const given = Object.keys(options).length === 0 ? "" : `, ${literal(options)}`;
  return `import { connect } from "millrace";

const client = await connect(${JSON.stringify(SERVER)}, { apiKey: process.env.API_KEY });
await client.enqueue(${JSON.stringify(type)}, ${literal(payload)}${given});
`;
}

/** Each format with its name. */
export const COPY_FORMATS = [
  ["curl", asCurl],
  ["Command line", asCommand],
  ["TypeScript", asTypeScript],
] as const;

function literal(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, "$1$2:");
}

const DURATIONS = new Set(["retryDelay", "timeout", "delay", "keyTtl"]);

function flagText(name: string, value: unknown): string {
  return typeof value === "number" && DURATIONS.has(name) ? formatDuration(value) : String(value);
}

/** One argument for a shell, whatever is in it. */
function quote(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
