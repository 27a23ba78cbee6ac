/**
 * DELIVERIES. The end of a job with a `webhookUrl` inserts a job of this type in the same transition; that of a flow, right after. This handler
 * runs it.
 *
 *   2xx                    delivered
 *   410                    the receiver is gone for good: dead at once, as in Standard Webhooks
 *   429, 503               retried after their Retry-After, otherwise like the rest
 *   anything else, none    retried. Also 404 and 401: during a deploy of the receiver they pass like a 500, and a job ends only once. Also
 *                          3xx: redirects are not followed
 *   a closed address       dead at once, and nothing is sent
 */
import type { Client, Flows, Handler } from "../client/client.ts";
import { Discard, RetryAfter } from "../core/control-errors.ts";
import { queueBeside } from "../core/delivery.ts";
import { messageOf } from "../core/errors.ts";
import { FLOW_QUEUE } from "../core/flow.ts";
import { stringifyJson } from "../core/json-text.ts";
import type { Job } from "../core/job.ts";
import { HOUR_MS } from "../core/time-units.ts";
import { DELIVERED, type DeliveredStatus, deliveryBody, flowDeliveryBody, type JobEnd } from "./delivery-body.ts";
import { retryAfterMs } from "./retry-after.ts";
import { type Answer, type OutgoingRequest, send, type Sender } from "./send.ts";
import { signedHeaders } from "./sign.ts";

/** What reads the jobs and flows whose ends are delivered. */
export interface DeliveryClient extends Pick<Client, "get"> {
  readonly flows: Pick<Flows, "get">;
}

export interface DeliveryParts {
  readonly client: DeliveryClient;
  readonly sender: Sender;
  readonly keys: readonly Buffer[];
  readonly now: () => number;
  readonly random: () => number;
}

const LIMITS = { connectMs: 5000, totalMs: 10_000, maxBytes: 64 * 1024 };

const FIRST_PAUSE_MS = 10_000;
/** Longer than for other jobs: with its number of retries, a delivery survives a receiver that is down for a weekend. */
const LONGEST_PAUSE_MS = HOUR_MS;
/** Deliveries that failed together must not be retried together. */
const JITTER = 0.25;

/** The handler of deliveries. It keeps nothing that a receiver wrote, only the status and the duration. */
export function deliveryHandler(parts: DeliveryParts): Handler {
  return async (payload, { job: delivery, signal }) => {
    const end = readEnd(payload, delivery);
    const ended = await readEnded(parts, end);
    const url = urlOf(delivery, ended);
    const body = Buffer.from(stringifyJson(ended.body));
    const headers = {
      "content-type": "application/json",
      "content-length": String(body.length),
      "user-agent": "millrace",
      // The id of the delivery is the same for every attempt, so that receivers recognise a repeat.
      ...signedHeaders(parts.keys, delivery.id, parts.now(), body),
    };
    const startedAt = performance.now();
    const answer = await sendOrRetry(parts, delivery, { url, method: "POST", headers, body }, signal);
    judge(parts, delivery, answer);
    return { status: answer.status, duration_ms: Math.round(performance.now() - startedAt) };
  };
}

function readEnd(payload: unknown, delivery: Job): JobEnd {
  const { job_id: jobId, status } = (payload ?? {}) as { job_id?: unknown; status?: unknown };
  if (typeof jobId !== "string" || !DELIVERED.includes(status as DeliveredStatus)) {
    throw new Discard(`the payload of a delivery must be { job_id, status } with a status of ${DELIVERED.join(", ")}`);
  }
  return { jobId, status: status as DeliveredStatus, queue: queueBeside(delivery.queue) };
}

/** What a delivery tells, and where the job or flow wants it. */
interface Ended {
  readonly body: unknown;
  readonly webhookUrl: string | null;
}

async function readEnded({ client }: DeliveryParts, end: JobEnd): Promise<Ended> {
  if (end.queue === FLOW_QUEUE) {
    const flow = await client.flows.get(end.jobId);
    return { body: flowDeliveryBody(end, flow), webhookUrl: flow?.webhookUrl ?? null };
  }
  const job = await client.get(end.jobId);
  return { body: deliveryBody(end, job), webhookUrl: job?.webhookUrl ?? null };
}

/** The delivery has a copy of the URL: its job may be gone long before the last retry. */
function urlOf(delivery: Job, { webhookUrl }: Ended): string {
  const url = delivery.webhookUrl ?? webhookUrl;
  if (url === null) throw new Discard("there is no URL to deliver to: the job is gone, or has no webhook_url");
  return url;
}

async function sendOrRetry(parts: DeliveryParts, delivery: Job, request: OutgoingRequest, signal: AbortSignal): Promise<Answer> {
  try {
    return await send(parts.sender, request, LIMITS, signal);
  } catch (error) {
    if (error instanceof Discard || signal.aborted) throw error;
    throw failure(parts, delivery, messageOf(error), error);
  }
}

function judge(parts: DeliveryParts, delivery: Job, { host, status, headers }: Answer): void {
  if (status >= 200 && status < 300) return;
  const said = `${host} answered ${status}`;
  if (status === 410) throw new Discard(`${said}: the receiver wants no more deliveries`);
  const delayMs = retryAfterMs(status, headers["retry-after"], parts.now());
  if (delayMs !== undefined) throw named(new RetryAfter(delayMs, `${said} and asked to try again later`));
  throw failure(parts, delivery, status >= 300 && status < 400 ? `${said}: redirects are not followed` : said);
}

function failure({ random }: DeliveryParts, { retryCount }: Job, message: string, cause?: unknown): Error {
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(retryCount, 20));
  return named(new RetryAfter(Math.round(pauseMs * (1 + JITTER * (2 * random() - 1))), message), cause);
}

function named(error: RetryAfter, cause?: unknown): Error {
  return Object.assign(error, { name: "DeliveryFailed" }, cause === undefined ? {} : { cause });
}
