/**
 * E-mail, the job that every application has. A mail server is slow and sometimes away, so no request should wait for it: the job does.
 *
 * Two things make it right. A message keeps one Message-ID over all attempts, so that a mail server or a reader can tell a second copy
 * (a job runs at least once). And the server's answer decides: 5xx is for good, all else is tried again.
 *
 *     SMTP_URL=smtp://user:secret@mail.example.com:587 node examples/email.ts     # without it, the mail is only shown
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

const client = await connect("sqlite:email.db");
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
        // "No such mailbox" will not change by asking again.
        if (responseCode >= 500) throw new Discard(message);
        throw error;
      }
    }),
  ],
  { concurrency: 5 },
);

// The key makes the enqueue safe to repeat: a customer who presses twice gets one message.
const welcome = { to: "ann@example.com", subject: "Welcome", text: "Good to have you." };
const first = await client.enqueue(sendEmail, welcome, { idempotencyKey: "welcome-ann" });
const second = await client.enqueue(sendEmail, welcome, { idempotencyKey: "welcome-ann" });
const nobody = await client.enqueue(sendEmail, { ...welcome, to: "nobody@example.com" });
console.log(`pressed twice, one job: ${first.id === second.id}`);

for (const { id } of [first, nobody]) {
  const { payload, status, error, result } = await client.wait(id);
  console.log(`${(payload as { to: string }).to}: ${status}`, error?.message ?? result);
}

await worker.stop();
await client.close();
