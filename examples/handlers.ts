/** The example handlers of `npm start`. They do no real work, but they take time, succeed and fail like real ones. */
import { setTimeout as pause } from "node:timers/promises";
import { type Context, defineJob, Discard } from "millrace";
import * as z from "zod";

const Email = z.object({ to: z.email(), subject: z.string().default("Hello") });

const email = defineJob({ type: "email:send", input: Email });
const sameEmail = defineJob({ type: "send_email", input: Email });
const image = defineJob({ type: "image:resize", input: z.object({ url: z.url(), width: z.int().min(1).max(10_000).default(320) }) });
const report = defineJob({ type: "report:make", input: z.object({ pages: z.int().min(1).max(100) }).nullable() });
const charge = defineJob({ type: "card:charge", input: z.object({ cents: z.int().positive() }), maxRetries: 2, retryDelay: "1s" });
const hello = defineJob({ type: "hello:world" });
/** `POST /jobs` without a type makes a job of this type. */
const untyped = defineJob({ type: "default" });

/** The job that `npm start` suggests to try. */
export const example = { type: "email:send", payload: { to: "ann@example.com" } };

export default [
  email.handle(sendEmail),
  sameEmail.handle(sendEmail),

  image.handle(async ({ url, width }, ctx) => {
    ctx.log(`resizing ${url} to ${width} px`);
    await pause(50, undefined, { signal: ctx.signal });
    return { url, width };
  }),

  report.handle(async (wanted, ctx) => {
    const pages = wanted?.pages ?? 10;
    for (let page = 1; page <= pages; page++) {
      await pause(200, undefined, { signal: ctx.signal });
      ctx.progress((100 * page) / pages, `page ${page} of ${pages}`);
    }
    return { pages };
  }),

  charge.handle(async ({ cents }) => {
    if (cents > 100_000) throw new Discard("the bank refuses amounts above 1,000.00");
    if (Math.random() < 0.5) throw new Error("the bank does not answer");
    return { receipt: `r-${cents}` };
  }),

  hello.handle(async (payload) => ({ hello: payload })),
  untyped.handle(async (payload) => ({ processed: payload })),
];

async function sendEmail({ to, subject }: z.output<typeof Email>, ctx: Context): Promise<{ status: "sent"; accepted: string[] }> {
  ctx.log(`sending "${subject}" to ${to}`);
  await pause(50, undefined, { signal: ctx.signal });
  return { status: "sent", accepted: [to] };
}
