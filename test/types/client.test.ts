// What the compiler tells users. The calls are only compiled: where `@ts-expect-error` stands is where the complaint must stand.

import { expectTypeOf, test } from "vitest";
import * as z from "zod";
import {
  type Client,
  type Completed,
  connect,
  type Context,
  type DefinedJob,
  defineJob,
  type EnqueuedJob,
  type EnqueueResult,
  type HandledJob,
  type Handlers,
  type HeardJob,
  HoldKey,
  type Job,
  type JobInput,
  type JobsOf,
} from "../../src/index.ts";
import { createTestClient } from "../../src/testing/index.ts";

interface Mail {
  readonly to: string;
}

const mail = defineJob<Mail>({ type: "mail" });
const checked = defineJob({ type: "checked", input: z.object({ to: z.string() }) });
const plain = defineJob({ type: "plain" });
const maybe = defineJob({ type: "maybe", input: z.object({ to: z.string() }).optional() });

const told = defineJob<Mail, { sent: boolean }>({ type: "told" });
const named = defineJob<Mail, unknown, "mail:named">({ type: "mail:named" });
const report = defineJob({
  type: "report:make",
  input: z.object({ day: z.number() }),
  output: z.object({ pages: z.coerce.number<number | string>() }),
});

const jobs = [report, plain, named, mail] as const;
const registered = () => connect("memory:", { jobs });
const registeredForTests = () => createTestClient({ jobs: [report, plain, named, mail] });

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
  expectTypeOf(mail.job({ to: "ann" }, { delay: "5m" })).toEqualTypeOf<DefinedJob<Mail>>();
  expectTypeOf(mail.job({ to: "ann" })).toExtend<JobInput>();
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

test("items of enqueueMany that name a definition have its payload, and their results too", () => {
  compiled((client) => [
    client.enqueueMany([
      { type: "anything", payload: 5 },
      {
        type: checked,
        payload: {
          // @ts-expect-error -- to is a text
          to: 5,
        },
      },
      // @ts-expect-error -- the payload is missing
      { type: mail },
    ]),
    client.enqueueMany([
      {
        type: mail,
        payload: { to: "ann" },
        // @ts-expect-error -- there is no such level
        priority: "urgent",
      },
    ]),
  ]);
  compiled((client) => {
    const texts = ["ann", "bob"];
    const many = client.enqueueMany([mail.job({ to: "ann" }), { type: report, payload: { day: 1 }, delay: "5m" }, { type: "plain" }]);
    expectTypeOf(many).resolves.toEqualTypeOf<[EnqueueResult<Mail>, EnqueueResult<{ day: number }, { pages: number }>, EnqueueResult]>();
    expectTypeOf(client.enqueueMany(texts.map((to) => mail.job({ to })))).resolves.toEqualTypeOf<EnqueueResult<Mail>[]>();
    expectTypeOf(client.enqueueMany(texts.map((to) => ({ type: "mail", payload: to })))).resolves.toEqualTypeOf<EnqueueResult[]>();
    expectTypeOf(client.enqueueMany([] as JobInput[])).resolves.toEqualTypeOf<EnqueueResult[]>();
  });
});

test("get and wait take the caller's word for payload and result", () => {
  compiled((client) => {
    expectTypeOf(client.get("id")).resolves.toEqualTypeOf<Job | null>();
    expectTypeOf(client.get<Mail, string>("id")).resolves.toEqualTypeOf<Job<Mail, string> | null>();
    expectTypeOf(client.wait("id")).resolves.toEqualTypeOf<Job>();
    expectTypeOf(client.wait<Mail, string>("id", { timeout: "5m" })).resolves.toEqualTypeOf<Job<Mail, string>>();
  });
});

test("get and wait of a definition know its payload and result", () => {
  compiled((client) => {
    expectTypeOf(client.get(report, "id")).resolves.toEqualTypeOf<Job<{ day: number }, { pages: number }> | null>();
    expectTypeOf(client.wait(report, "id", { timeout: "5m" })).resolves.toEqualTypeOf<Job<{ day: number }, { pages: number }>>();
    expectTypeOf(client.wait(told, "id")).resolves.toEqualTypeOf<Job<Mail, { sent: boolean }>>();
    expectTypeOf(client.get(mail, "id")).resolves.toEqualTypeOf<Job<Mail> | null>();
    // @ts-expect-error -- the id is missing
    void client.get(report);
  });
});

test("a handler returns what its definition says", () => {
  compiled(() => [
    report.handle(() => ({ pages: 5, unlisted: true })),
    report.handle(async () => ({ pages: "5" })),
    // @ts-expect-error -- pages is missing
    report.handle(async () => ({ page: 5 })),
    // @ts-expect-error -- sent is true or false
    told.handle(() => ({ sent: "yes" })),
  ]);
  expectTypeOf(report.handle(() => ({ pages: 5 }))).toEqualTypeOf<HandledJob<{ pages: number }>>();
});

test("ctx.complete takes what the definition says of its result, and a handler may return it", () => {
  const tx = {};
  compiled((client) => [
    report.handle(async (_, ctx) => ctx.complete({ pages: "5" }, { tx })),
    report.handle((_, ctx) => ctx.complete({ pages: 5 }, { tx })),
    report.handle(async ({ day }, ctx) => (day === 0 ? { pages: 0 } : ctx.complete({ pages: 5 }, { tx }))),
    report.handle(async (_, ctx) => {
      const done = await ctx.complete({ pages: 5 }, { tx });
      expectTypeOf(done).toEqualTypeOf<Completed>();
      return done;
    }),
    report.handle((_, ctx) =>
      ctx.complete(
        // @ts-expect-error -- pages is missing
        { page: 5 },
        { tx },
      ),
    ),
    // @ts-expect-error -- the result is missing: it returns neither one nor what complete resolves to
    report.handle(async (_, ctx) => void (await ctx.complete({ pages: 5 }, { tx }))),
    // @ts-expect-error -- sent is true or false
    told.handle((_, ctx) => ctx.complete({ sent: "yes" }, { tx })),
    report.handleMany((given, ctx) => Promise.all(given.map((job) => ctx.of(job).complete({ pages: 5 }, { tx })))),
    report.handleMany(async (given, ctx) => {
      // @ts-expect-error -- pages is missing
      await ctx.of(given[0]!).complete({}, { tx });
    }),
    // Without a result in the definition anything will do.
    mail.handle((_, ctx) => ctx.complete({ anything: 1 }, { tx })),
    client.work({ mail: async (_: Mail, ctx) => ctx.complete({ anything: 1 }, { tx }) }),
  ]);
  // A handler whose context says nothing of the result fits every definition of its payload.
  const plainly = async (_: { day: number }, ctx: Context<{ day: number }>) => ctx.complete({ pages: 5 }, { tx });
  compiled(() => report.handle(plainly));
  const nothing = async (_: unknown, ctx: Context): Promise<void> => ctx.complete(5, { tx });
  compiled(() => mail.handle(nothing));
  expectTypeOf(report.handle((_, ctx) => ctx.complete({ pages: 5 }, { tx }))).toExtend<HandledJob<{ pages: number | string }>>();
});

test("a schedule of a definition has its payload", () => {
  compiled((client) => [
    client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", job: report, payload: { day: 1 }, timeout: "5m" }),
    client.schedules.create({ name: "poll", every: "10s", job: plain }),
    client.schedules.upsert({ name: "poll", every: "10s", type: "plain", payload: { anything: 1 } }),
    // @ts-expect-error -- day is a number
    client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", job: report, payload: { day: "one" } }),
    // @ts-expect-error -- the payload is missing
    client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", job: report }),
    // @ts-expect-error -- either a type or a definition
    client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", type: "report:make", job: report, payload: { day: 1 } }),
  ]);
});

test("names of registered jobs have their payloads and results, and there are no other names", () => {
  type Registered = Client<JobsOf<typeof jobs>>;
  expectTypeOf(registered).returns.resolves.toEqualTypeOf<Registered>();
  expectTypeOf(registeredForTests).returns.resolves.toExtend<Registered>();
  const calls = (client: Registered): unknown[] => [
    client.enqueue("plain"),
    client.enqueue("mail:named", { to: "ann" }, { delay: "5m" }),
    client.enqueue("http:request", { url: "https://example.com" }),
    // A definition that is not registered can be used as such.
    client.enqueue(checked, { to: "ann" }),
    client.enqueueMany([{ type: "report:make", payload: { day: 1 } }, checked.job({ to: "ann" }), { type: "plain" }]),
    client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", type: "report:make", payload: { day: 1 } }),
    client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", job: report, payload: { day: 1 } }),
    client.enqueue(
      // @ts-expect-error -- no job has this name
      "report:mkae",
      { day: 1 },
    ),
    client.enqueue("report:make", {
      // @ts-expect-error -- day is a number
      day: "one",
    }),
    // @ts-expect-error -- the payload is missing
    client.enqueue("report:make"),
    client.enqueueMany([
      {
        type: "report:make",
        payload: {
          // @ts-expect-error -- day is a number
          day: "one",
        },
      },
    ]),
    client.enqueueMany([
      {
        // @ts-expect-error -- no job has this name
        type: "report:mkae",
        payload: { day: 1 },
      },
    ]),
    client.schedules.upsert({
      name: "nightly",
      cron: "0 3 * * *",
      // @ts-expect-error -- no job has this name
      type: "report:mkae",
      payload: { day: 1 },
    }),
    // @ts-expect-error -- day is a number
    client.schedules.upsert({ name: "nightly", cron: "0 3 * * *", type: "report:make", payload: { day: "one" } }),
    client.enqueue(
      // @ts-expect-error -- the compiler does not know the name of this definition
      "mail",
      { to: "ann" },
    ),
  ];
  const types = (client: Registered): void => {
    expectTypeOf(client.enqueue("report:make", { day: 1 })).resolves.toEqualTypeOf<EnqueuedJob<{ day: number }, { pages: number }>>();
    expectTypeOf(client.enqueue(mail, { to: "ann" })).resolves.toEqualTypeOf<EnqueuedJob<Mail>>();
    expectTypeOf(client.enqueueMany([{ type: "report:make", payload: { day: 1 } }])).resolves.toEqualTypeOf<
      [EnqueueResult<{ day: number }, { pages: number }>]
    >();
  };
  expectTypeOf(calls).parameters.toEqualTypeOf<[Registered]>();
  expectTypeOf(types).parameters.toEqualTypeOf<[Registered]>();
});

test("handlers of registered jobs have their payloads and results, and there are no other names", () => {
  type Registered = Client<JobsOf<typeof jobs>>;
  const sized = defineJob({ type: "sized", input: z.object({ n: z.string().transform(Number) }) });
  const calls = (client: Registered, tests: Awaited<ReturnType<typeof registeredForTests>>): unknown[] => [
    client.work({
      "report:make": ({ day }, ctx) => {
        expectTypeOf(day).toEqualTypeOf<number>();
        expectTypeOf(ctx.job).toEqualTypeOf<Job<{ day: number }>>();
        return { pages: day };
      },
      "mail:named": async ({ to }) => to.length,
      plain: (payload) => expectTypeOf(payload).toEqualTypeOf<unknown>(),
      // It takes any other type.
      "*": (payload: { n: number }) => payload.n,
    }),
    client.work({ "report:make": async (_, ctx) => ctx.complete({ pages: "5" }, { tx: {} }) }),
    client.work({ "report:make": () => ({ pages: "5" }) }, { queues: ["reports"] }),
    client.work({}),
    client.work({
      // @ts-expect-error -- no job has this name
      "report:mkae": () => ({ pages: 5 }),
    }),
    client.work({
      "report:make": () => ({ pages: 5 }),
      // @ts-expect-error -- no job has this name, though another one is right
      "report:mkae": () => ({ pages: 5 }),
    }),
    client.work({
      // @ts-expect-error -- day is a number
      "report:make": ({ day }: { day: string }) => ({ pages: day.length }),
    }),
    client.work({
      // @ts-expect-error -- pages is missing
      "report:make": async () => ({ page: 5 }),
    }),
    client.work({
      "report:make": (_, ctx) =>
        ctx.complete(
          // @ts-expect-error -- pages is missing
          { page: 5 },
          { tx: {} },
        ),
    }),
    // Definitions need not be registered, and the compiler does not know the name of this one.
    client.work([checked.handle(({ to }) => to.length), mail.handle(async () => {}), report.handle(() => ({ pages: 5 }))]),
    tests.drain({ "report:make": ({ day }) => ({ pages: day }) }),
    tests.drain({
      // @ts-expect-error -- no job has this name
      "report:mkae": () => ({ pages: 5 }),
    }),
  ];
  // A handler gets what the schema makes of the payload, not what producers give.
  const made = (client: Client<JobsOf<readonly [typeof sized]>>): unknown => [
    client.enqueue("sized", { n: "5" }),
    client.work({ sized: ({ n }) => expectTypeOf(n).toEqualTypeOf<number>() }),
  ];
  expectTypeOf(calls).parameter(0).toEqualTypeOf<Registered>();
  expectTypeOf(made).toBeFunction();
});

test("without registered jobs a worker takes any name", () => {
  const known: Handlers = { anything: (to: string) => to.length };
  compiled((client) => [
    client.work({ anything: ({ to }: Mail) => to, other: (payload) => payload.some.field, "*": async () => {} }),
    client.work(known),
    // @ts-expect-error -- it is no handler
    client.work({ anything: 5 }),
    // @ts-expect-error -- it is no handler either
    client.work({ anything: undefined }),
  ]);
});

test("a client with registered jobs is a client", () => {
  const any = (client: Client): Client => client;
  compiled(async () => [any(await registered()), any(await registeredForTests())]);
});

test("a handled job knows what its handler returns, and handlers of all kinds make one list", () => {
  const sent = mail.handle(async ({ to }) => ({ sent: to }));
  expectTypeOf(sent).toEqualTypeOf<HandledJob<{ sent: string }>>();
  compiled((client) => client.work([sent, checked.handle(({ to }) => to.length), plain.handle(async () => {})]));
});

test("a listener gets what its event has, and only workers have events of their own", () => {
  compiled((client) => {
    client.on("dead", (job, error) => {
      expectTypeOf(job).toEqualTypeOf<HeardJob>();
      expectTypeOf(error).toEqualTypeOf<Error>();
    });
    // @ts-expect-error -- a completed job has no error
    client.on("completed", (_job, _error) => {});
    // @ts-expect-error -- it is an event of workers
    client.on("idle", () => {});
    client.work({}).on("idle", async () => {});
    // @ts-expect-error -- results are missing
    client.use({ enqueue: async () => {} });
    client.use({ handle: (payload, { signal }, next) => (signal.aborted ? null : next(payload)) });
  });
});

test("limits are typed where they are set, and keys where jobs are made", () => {
  compiled(async (client) => {
    await client.configure("mail", { limits: { running: 5, rate: "100/s", burst: 2, perKey: { running: null, waiting: 10 } } });
    await client.configure("mail", { limits: null });
    // @ts-expect-error -- only a key has a weight
    await client.configure("mail", { limits: { weight: 2 } });
    // @ts-expect-error -- a rate is a text
    await client.configure("mail", { limits: { rate: 5 } });
    await client.limits.set("mail", null, { weight: 2 });
    // @ts-expect-error -- the key is missing
    await client.limits.set("mail", { weight: 2 });
    await client.enqueue("t", null, { limitKey: "acme", cost: 2 });
    // @ts-expect-error -- a key is a text
    await client.enqueue("t", null, { limitKey: 7 });
    await client.schedules.upsert({ name: "s", every: "1h", type: "t", limitKey: "acme", cost: 2 });
    expectTypeOf((await client.limits.use("mail"))!.keys[0]!.heldUntil).toEqualTypeOf<number | null>();
    client.work({
      t: (_payload, ctx) => {
        expectTypeOf(ctx.spend).toEqualTypeOf<(units: number) => void>();
        expectTypeOf(ctx.job.limitKey).toEqualTypeOf<string | null>();
        throw new HoldKey("30s");
      },
    });
  });
});
