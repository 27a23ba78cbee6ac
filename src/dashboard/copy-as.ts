/** THE SAME JOB AS CODE: how to enqueue it with curl, on the command line, or in TypeScript. */
import { formatDuration } from "../core/duration.ts";
import { type JobSummary, USUAL_JOB, usualMaxLost } from "../core/job.ts";
import { JsonText, jsonOf, payloadOf, prettyJson } from "../core/json-text.ts";
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
    ...(job.backoff === USUAL_JOB.backoff ? {} : { backoff: job.backoff }),
    ...(job.timeout === USUAL_JOB.timeout ? {} : { timeout: job.timeout }),
    ...(job.tags.length === 0 ? {} : { tags: job.tags }),
    ...(job.meta === null ? {} : { meta: job.meta }),
    ...(job.limitKey === null ? {} : { limitKey: job.limitKey }),
    ...(job.cost === 1 ? {} : { cost: job.cost }),
    ...(job.webhookUrl === null ? {} : { webhookUrl: job.webhookUrl }),
  };
  return { type: job.type, payload: payloadOf(job), options };
}

const SERVER = API_URL.href.replace(/\/$/, "");

/** The API key comes from the environment: in the command, it would end up in the shell's history. */
export function asCurl({ type, payload, options }: JobRequest): string {
  const others = JSON.stringify(Object.fromEntries(Object.entries(options).map(([name, value]) => [snakeCase(name), value])));
  const body = `{"type":${JSON.stringify(type)},"payload":${jsonOf(payload)}${others === "{}" ? "}" : `,${others.slice(1)}`}`;
  const { before, argument } = byFileIfLarge(body);
  const command = [
    `curl ${quote(`${SERVER}/api/v1/jobs`)}`,
    `--header "X-API-Key: $API_KEY"`,
    "--header 'Content-Type: application/json'",
    // Of a file, --data would leave out the line breaks.
    before === "" ? `--data ${argument}` : `--data-binary ${argument}`,
  ];
  return before + command.join(" \\\n  ");
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
  const { before, argument } = byFileIfLarge(jsonOf(payload));
  return before + [`millrace enqueue ${quote(type)} ${argument}`, ...flags].join(" \\\n  ");
}

/** A shell takes no argument of any length: larger JSON goes by a file. */
const MAX_ARGUMENT = 8 * 1024;
const FILE = "payload.json";
/** No line of JSON is this word alone. */
const END = "END_OF_JSON";

function byFileIfLarge(json: string): { readonly before: string; readonly argument: string } {
  if (new Blob([json]).size <= MAX_ARGUMENT) return { before: "", argument: quote(json) };
  return { before: `cat > ${FILE} <<'${END}'\n${json}\n${END}\n`, argument: `@${FILE}` };
}

export function asTypeScript({ type, payload, options }: JobRequest): string {
  const given = Object.keys(options).length === 0 ? "" : `, ${literal(options)}`;
  return `import { connect } from "millrace";
${isExact(payload) ? "" : "\n// JavaScript cannot hold every number of this payload: curl and the command line keep them as they are.\n"}
const client = await connect(${JSON.stringify(SERVER)}, { apiKey: process.env.API_KEY });
await client.enqueue(${JSON.stringify(type)}, ${literal(payload)}${given});
`;
}

/** Whether JavaScript writes the numbers of a payload as they came. */
function isExact(payload: unknown): boolean {
  return !(payload instanceof JsonText) || prettyJson(payload) === prettyJson(payload.value);
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
