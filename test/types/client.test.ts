// What the compiler tells users. The calls are only compiled: where `@ts-expect-error` stands is where the complaint must stand.

import { expectTypeOf, test } from "vitest";
import * as z from "zod";
import { type Client, defineJob, type EnqueuedJob, type HandledJob, type Job, type JobInput } from "../../src/index.ts";

interface Mail {
  readonly to: string;
}

const mail = defineJob<Mail>({ type: "mail" });
const checked = defineJob({ type: "checked", input: z.object({ to: z.string() }) });
const plain = defineJob({ type: "plain" });
const maybe = defineJob({ type: "maybe", input: z.object({ to: z.string() }).optional() });

/** Compiles calls and never makes them. */
function compiled(_calls: (client: Client) => unknown): void {}

test("a wrong payload is what the compiler complains about, not the definition", () => {
  compiled((client) => [
    client.enqueue(
      mail,
      // @ts-expect-error -- to is a text
      { to: 5 },
    ),
    client.enqueue(
      checked,
      {
        // @ts-expect-error -- to is a text, as its schema says
        to: 5,
      },
      { priority: "high" },
    ),
    // @ts-expect-error -- the payload is missing
    client.enqueue(mail),
  ]);
});

test("wrong options are what the compiler complains about, not the type", () => {
  compiled((client) => [
    client.enqueue(
      "mail",
      { to: 5 },
      {
        // @ts-expect-error -- there is no such level
        priority: "urgent",
      },
    ),
    client.enqueue(
      mail,
      { to: "ann" },
      {
        // @ts-expect-error -- a misspelt name
        prioritty: "high",
      },
    ),
    client.enqueue(
      // @ts-expect-error -- neither a name nor a definition
      5,
      {},
    ),
  ]);
});

test("a payload may be left out where it may be undefined", () => {
  compiled((client) => [
    client.enqueue("plain"),
    client.enqueue(plain),
    client.enqueue(plain, { anything: 1 }, { delay: "5m" }),
    client.enqueue(plain, undefined, { delay: "5m" }),
    client.enqueue(maybe),
    client.enqueueMany([plain.job(), maybe.job(), { type: plain }]),
  ]);
});

test("what enqueue answers knows its payload", () => {
  compiled((client) => {
    expectTypeOf(client.enqueue(mail, { to: "ann" })).resolves.toEqualTypeOf<EnqueuedJob<Mail>>();
    expectTypeOf(client.enqueue(checked, { to: "ann" })).resolves.toEqualTypeOf<EnqueuedJob<{ to: string }>>();
    expectTypeOf(client.enqueue("mail", { to: "ann" })).resolves.toEqualTypeOf<EnqueuedJob>();
    expectTypeOf(client.enqueue<Mail>("mail", { to: "ann" })).resolves.toEqualTypeOf<EnqueuedJob<Mail>>();
  });
});

test("items of enqueueMany that a definition makes have the payload of the definition", () => {
  expectTypeOf(mail.job({ to: "ann" }, { delay: "5m" })).toEqualTypeOf<JobInput>();
  compiled((client) =>
    client.enqueueMany([
      mail.job({ to: "ann" }),
      // @ts-expect-error -- to is a text
      checked.job({ to: 5 }),
      // @ts-expect-error -- the payload is missing
      mail.job(),
    ]),
  );
});

test("get and wait take the caller's word for payload and result", () => {
  compiled((client) => {
    expectTypeOf(client.get("id")).resolves.toEqualTypeOf<Job | null>();
    expectTypeOf(client.get<Mail, string>("id")).resolves.toEqualTypeOf<Job<Mail, string> | null>();
    expectTypeOf(client.wait("id")).resolves.toEqualTypeOf<Job>();
    expectTypeOf(client.wait<Mail, string>("id", { timeout: "5m" })).resolves.toEqualTypeOf<Job<Mail, string>>();
  });
});

test("a handled job knows what its handler returns, and handlers of all kinds make one list", () => {
  const sent = mail.handle(async ({ to }) => ({ sent: to }));
  expectTypeOf(sent).toEqualTypeOf<HandledJob<{ sent: string }>>();
  compiled((client) => client.work([sent, checked.handle(({ to }) => to.length), plain.handle(async () => {})]));
});
