/**
 * A Next.js route: `app/api/exports/route.ts`. POST enqueues an export and answers at once, GET returns its progress. The export itself runs
 * in a worker, `npx millrace worker --handlers ./jobs.ts`, so no deployment of the site and no time limit of a function interrupts it.
 *
 * It works with any framework whose handlers take a `Request` and return a `Response`.
 */
import { type Client, connect, defineJob, MillraceError } from "millrace";
import * as z from "zod";

const exportOrders = defineJob({ type: "orders:export", input: z.object({ month: z.iso.date() }), timeout: "10m" });

// In development, modules are reloaded with each change: keep one client in a place that survives a reload.
const kept = globalThis as typeof globalThis & { millrace?: Promise<Client> };

function millrace(): Promise<Client> {
  // If the store cannot be reached now, the next request tries again.
  return (kept.millrace ??= connect(process.env["MILLRACE_URL"]).catch((error: unknown) => {
    delete kept.millrace;
    throw error;
  }));
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

/** Tells the caller about errors that they can fix. The framework reports all others. */
function refusal(error: unknown): Response {
  if (error instanceof SyntaxError) return Response.json({ error: "the body is not JSON" }, { status: 400 });
  if (!(error instanceof MillraceError)) throw error;
  const { code, message, field } = error;
  if (code === "invalid_input") return Response.json({ error: message, field }, { status: 422 });
  if (code === "key_conflict") return Response.json({ error: message }, { status: 409 });
  if (code === "queue_full") return Response.json({ error: message }, { status: 503, headers: { "Retry-After": "5" } });
  throw error;
}
