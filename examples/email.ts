/**
 * Sends e-mail from a job, so that no request waits for a mail server that is slow or unavailable.
 *
 * A job runs at least once, so all attempts use the same Message-ID: mail servers and readers can recognise a second copy. The server's
 * answer decides whether to retry: 5xx is permanent, everything else is retried.
 *
 *     SMTP_URL=smtp://user:secret@mail.example.com:587 node examples/email.ts     # without it, the mail is only printed
 */
import { connect, defineJob, Discard } from "millrace";
import nodemailer from "nodemailer";
import * as z from "zod";

const transport = nodemailer.createTransport(process.env["SMTP_URL"] ?? { jsonTransport: true });

const sendEmail = defineJob({
  type: "email:send",
  input: z.object({ to: z.email(), subject: z.string().max(200), text: z.string() }),
  maxRetries: 5,
  retryDelay: "1s",
  timeout: "20s",
});

const client = await connect("sqlite:email.db", { onTrouble: ({ message }) => console.log(message) });
const worker = client.work(
  [
    sendEmail.handle(async ({ to, subject, text }, ctx) => {
      try {
        const sent = await transport.sendMail({
          from: "shop@example.com",
          messageId: `<${ctx.job.id}@shop.example.com>`,
          to,
          subject,
          text,
        });
        ctx.log(`accepted for ${to}`);
        return { messageId: sent.messageId };
      } catch (error) {
        const { responseCode = 0, message } = error as Error & { responseCode?: number };
        // Such as "no such mailbox": a retry would not help.
        if (responseCode >= 500) throw new Discard(message);
        throw error;
      }
    }),
  ],
  { concurrency: 5 },
);

// The key makes the enqueue safe to repeat: a customer who clicks twice gets one message.
const welcome = { to: "ann@example.com", subject: "Welcome", text: "Good to have you." };
const first = await client.enqueue(sendEmail, welcome, { idempotencyKey: "welcome-ann" });
const second = await client.enqueue(sendEmail, welcome, { idempotencyKey: "welcome-ann" });
const nobody = await client.enqueue(sendEmail, { ...welcome, to: "nobody@example.com" });
console.log(`clicked twice, one job: ${first.id === second.id}`);

for (const { id } of [first, nobody]) {
  const { payload, status, error, result } = await client.wait(id);
  console.log(`${(payload as { to: string }).to}: ${status}`, error?.message ?? result);
}

await worker.stop();
await client.close();
