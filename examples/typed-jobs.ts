/** Jobs with schemas: payload and result are typed; the payload is checked at enqueue and before the handler runs, the result when it returns. */
import { connect, defineJob, MillraceError } from "millrace";
import * as z from "zod";

const sendEmail = defineJob({
  type: "email:send",
  input: z.object({ to: z.email(), subject: z.string().default("Hello") }),
  output: z.object({ sent: z.email() }),
  maxRetries: 5,
  timeout: "10s",
});

const client = await connect("memory:");
const worker = client.work([
  sendEmail.handle(async ({ to, subject }, ctx) => {
    ctx.log(`sending "${subject}" to ${to}`);
    return { sent: to };
  }),
]);

const job = await client.enqueue(sendEmail, { to: "ann@example.com" }, { priority: "high" });
const ended = await client.wait(sendEmail, job.id);
console.log(
  ended.status,
  ended.result?.sent,
  (await client.logs(job.id)).map((line) => line.text),
);

try {
  await client.enqueue(sendEmail, { to: "not an address" });
} catch (error) {
  if (error instanceof MillraceError) console.log(`refused: ${error.code} in ${error.field}`);
}

await worker.stop();
await client.close();
