/** Handlers to try a server with: `npm start` runs them. Each only pretends; what is real is how it succeeds, fails, and takes its time. */
import { setTimeout as pause } from "node:timers/promises";
import { defineJob, Discard } from "millrace";
import * as z from "zod";

const email = defineJob({ type: "email:send", input: z.object({ to: z.email(), subject: z.string().default("Hello") }) });
const report = defineJob({ type: "report:make", input: z.object({ pages: z.int().min(1).max(100) }).nullable() });
const charge = defineJob({ type: "card:charge", input: z.object({ cents: z.int().positive() }), maxRetries: 2, retryDelay: "1s" });

/** What `npm start` proposes to try. */
export const example = { type: "email:send", payload: { to: "ann@example.com" } };

export default [
  email.handle(async ({ to, subject }, ctx) => {
    ctx.log(`sending "${subject}" to ${to}`);
    await pause(50, undefined, { signal: ctx.signal });
    return { accepted: [to] };
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
];
