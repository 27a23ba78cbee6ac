/**
 * A route of Next.js: `app/api/exports/route.ts`. POST takes the order and answers at once, GET says how far it is. What takes minutes runs
 * in a worker, `npx millrace worker --handlers ./jobs.ts`, which no deployment of the page and no time limit of a function interrupts.
 *
 * Nothing here is of Next.js: any framework whose handlers take a `Request` and return a `Response` can have it.
 */
import { type Client, connect, defineJob, MillraceError } from "millrace";
import * as z from "zod";

const exportOrders = defineJob({ type: "orders:export", input: z.object({ month: z.iso.date() }), timeout: "10m" });

// While one works on the page its modules are loaded anew with each change: one client is kept where they all find it.
const kept = globalThis as typeof globalThis & { millrace?: Promise<Client> };

function millrace(): Promise<Client> {
  return (kept.millrace ??= connect(process.env["MILLRACE_URL"]));
}

export async function POST(request: Request): Promise<Response> {
  try {
    const client = await millrace();
    const key = request.headers.get("idempotency-key");
    const payload = (await request.json()) as { month: string };
    const job = await client.enqueue(exportOrders, payload, key === null ? {} : { idempotencyKey: key });
    const location = `${new URL(request.url).pathname}?id=${job.id}`;
    return Response.json({ id: job.id, status: job.status }, { status: 202, headers: { Location: location } });
  } catch (error) {
    return refusal(error);
  }
}

export async function GET(request: Request): Promise<Response> {
  try {
    const client = await millrace();
    const job = await client.get(new URL(request.url).searchParams.get("id") ?? "");
    if (job?.type !== exportOrders.type) return Response.json({ error: "there is no such export" }, { status: 404 });
    return Response.json({ status: job.status, progress: job.progress, result: job.result });
  } catch (error) {
    return refusal(error);
  }
}

/** What the caller can put right is theirs to know; what they cannot is an error of ours, and the framework's to report. */
function refusal(error: unknown): Response {
  if (error instanceof SyntaxError) return Response.json({ error: "the body is not JSON" }, { status: 400 });
  if (!(error instanceof MillraceError)) throw error;
  const { code, message, field } = error;
  if (code === "invalid_input") return Response.json({ error: message, field }, { status: 422 });
  if (code === "key_conflict") return Response.json({ error: message }, { status: 409 });
  if (code === "queue_full") return Response.json({ error: message }, { status: 503, headers: { "Retry-After": "5" } });
  throw error;
}
