/* oxlint-disable no-extraneous-class -- NestJS knows a module by its class */
import { expect, onTestFinished, test } from "vitest";
import { type Client, defineJob, type Job } from "../../../src/index.ts";
import type { TestClient } from "../../../src/testing/index.ts";
import { findNest } from "../../e2e/find-nest.ts";

// With the real NestJS; decorators are called by hand, because Node cannot strip them. docs/frameworks.md has programs as people write them.

findNest();
const {
  BatchJobHandler,
  clientToken,
  InjectClient,
  JobHandler,
  MILLRACE_CLIENT,
  MILLRACE_SERVER,
  MillraceModule,
  MillraceTestingModule,
  serverToken,
} = await import("../../../src/nestjs/index.ts");

type Class = new (...args: never) => object;

interface Application {
  // oxlint-disable-next-line no-unnecessary-type-parameters -- as NestJS declares it
  get<Value>(token: unknown): Value;
  close(): Promise<void>;
}

/** The part of NestJS that the tests use: our own compiler does not see its types. */
interface Nest {
  Injectable(options?: { readonly scope: number }): (target: Class) => void;
  Module(metadata: { readonly imports: readonly unknown[]; readonly providers: readonly unknown[] }): (target: Class) => void;
  Scope: { readonly REQUEST: number; readonly TRANSIENT: number };
  NestFactory: { createApplicationContext(module: Class, options: object): Promise<Application> };
}

async function loadNest(): Promise<Nest> {
  const [common, core] = await Promise.all(["@nestjs/common", "@nestjs/core"].map((name) => import(name) as Promise<object>));
  return { ...common, ...core } as Nest;
}

const nest = await loadNest();

/** `@JobHandler(…)` above a method. */
function decorate(
  decorator: (target: object, name: string, descriptor: TypedPropertyDescriptor<never>) => void,
  of: Class,
  name: string,
): void {
  decorator(of.prototype as object, name, Object.getOwnPropertyDescriptor(of.prototype, name) as TypedPropertyDescriptor<never>);
}

async function open(millrace: unknown, ...providers: readonly unknown[]): Promise<Application> {
  class AppModule {}
  nest.Module({ imports: [millrace].flat(), providers })(AppModule);
  const app = await nest.NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  onTestFinished(() => app.close());
  return app;
}

class Mails {
  readonly sent: unknown[] = [];
  send(payload: unknown): number {
    return this.sent.push(payload);
  }
}
decorate(JobHandler("mail:send"), Mails, "send");

test("a method is found by its name: a class inherits it, and another function may have taken its place", async () => {
  class LoudMails extends Mails {
    override send(payload: unknown): number {
      return super.send({ loud: payload });
    }
  }
  const app = await open(MillraceTestingModule.forRoot(), LoudMails, { provide: "again", useExisting: LoudMails });
  const client = app.get<TestClient>(MILLRACE_CLIENT);
  await client.enqueue("mail:send", 1);
  expect(await client.drain()).toMatchObject({ completed: 1 });
  expect(app.get<Mails>(LoudMails).sent).toEqual([{ loud: 1 }]);
});

test("a batch handler gets many jobs at once, and drain takes handlers of the test instead", async () => {
  const index = defineJob<number>({ type: "index" });
  class Search {
    readonly batches: number[] = [];
    add(jobs: readonly Job<number>[]): void {
      this.batches.push(jobs.length);
    }
  }
  decorate(BatchJobHandler(index, { size: 3 }), Search, "add");
  const app = await open(MillraceModule.forRoot({ url: "memory:", worker: true, jobs: [index] }), Search);
  const client = app.get<Client>(MILLRACE_CLIENT);
  const made = await client.enqueueMany([1, 2, 3].map((payload) => index.job(payload)));
  for (const one of made) if (one.ok) await client.wait(one.job.id);
  expect(app.get<Search>(Search).batches).toEqual([3]);

  const tests = (await open(MillraceTestingModule.forRoot(), Search)).get<TestClient>(MILLRACE_CLIENT);
  await tests.enqueue("other");
  expect(await tests.drain()).toMatchObject({ completed: 0, pending: 1 });
  expect(await tests.drain({ other: () => 1 })).toMatchObject({ completed: 1 });
});

test("without worker no job runs here, and without server there is none", async () => {
  const app = await open(MillraceModule.forRoot({ url: "memory:" }), Mails);
  expect(await app.get<Client>(MILLRACE_CLIENT).workers({ internal: true })).toEqual([]);
  expect(app.get(MILLRACE_SERVER)).toBeNull();
});

test("a running job ends before other modules close what it uses, and the client closes last", async () => {
  const story: string[] = [];
  const started = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  class Slow {
    async run(): Promise<void> {
      started.resolve();
      await goOn.promise;
      story.push("the job ends");
    }
    onApplicationShutdown(): void {
      story.push("the database closes");
    }
  }
  decorate(JobHandler("slow"), Slow, "run");
  class UrlModule {}
  const urls = { module: UrlModule, providers: [{ provide: "url", useFactory: () => "memory:" }], exports: ["url"] };
  const factory = { inject: ["url"], imports: [urls], useFactory: (url: string) => ({ url, worker: { concurrency: 1 } }) };
  const app = await open(MillraceModule.forRootAsync(factory), Slow);
  const client = app.get<Client>(MILLRACE_CLIENT);
  const { id } = await client.enqueue("slow");
  await started.promise;
  const job = client.wait(id);
  const closed = app.close();
  await expect.poll(async () => (await client.workers()).map(({ state }) => state)).toEqual(["stopping"]);
  goOn.resolve();
  await closed;
  expect(await job).toMatchObject({ status: "completed" });
  expect(story).toEqual(["the job ends", "the database closes"]);
  await expect(client.stats()).rejects.toMatchObject({ code: "closed" });
});

class Invoices {
  declare readonly billing: Client;
  send(payload: unknown): unknown {
    return { billed: payload };
  }
  sendMany(jobs: readonly Job[]): unknown[] {
    return jobs.map(({ payload }) => ({ billed: payload }));
  }
}
InjectClient("billing")(Invoices.prototype, "billing");
decorate(JobHandler("invoice:send", { client: "billing" }), Invoices, "send");
decorate(BatchJobHandler("invoice:many", { client: "billing", size: 2 }), Invoices, "sendMany");

test("two modules have a store, a worker and handlers each", async () => {
  const main = MillraceModule.forRoot({ url: "memory:", worker: true });
  const billing = MillraceModule.forRootAsync({ name: "billing", useFactory: () => ({ url: "memory:", worker: true, server: true }) });
  const app = await open([main, billing], Mails, Invoices);
  const [mails, invoices] = [app.get<Client>(MILLRACE_CLIENT), app.get<Client>(clientToken("billing"))];
  expect(app.get<Invoices>(Invoices).billing).toBe(invoices);
  expect([app.get(MILLRACE_SERVER), app.get(serverToken("billing"))]).toEqual([null, expect.anything()]);

  for (const type of ["invoice:send", "invoice:many"]) {
    const { id } = await invoices.enqueue(type, 7);
    expect(await invoices.wait(id)).toMatchObject({ result: { billed: 7 } });
  }
  const { id } = await mails.enqueue("mail:send", 8);
  expect(await mails.wait(id)).toMatchObject({ status: "completed" });
  const typesOf = async (client: Client): Promise<unknown> => (await client.workers()).map(({ types }) => [types].flat().sort());
  expect([await typesOf(mails), await typesOf(invoices)]).toEqual([[["mail:send"]], [["invoice:many", "invoice:send"]]]);
});

test("in tests, each drain runs the handlers of its own client", async () => {
  const app = await open([MillraceTestingModule.forRoot(), MillraceTestingModule.forRoot({ name: "billing" })], Mails, Invoices);
  for (const token of [MILLRACE_CLIENT, clientToken("billing")]) {
    const client = app.get<TestClient>(token);
    await client.enqueueMany([{ type: "mail:send" }, { type: "invoice:send" }]);
    expect(await client.drain()).toMatchObject({ completed: 1, pending: 1 });
  }
});

test("a handler for a client that no module has is refused, and so is a named worker without handlers", async () => {
  await expect(
    open(MillraceModule.forRoot({ url: "memory:", worker: true }), Mails, { provide: "x", useClass: UnknownInvoices }),
  ).rejects.toThrow('UnknownInvoices.send handles jobs of the client "biling", but no MillraceModule of this application has that name');
  await expect(open(MillraceModule.forRoot({ name: "billing", url: "memory:", worker: true }), Mails)).rejects.toThrow(
    'no provider has a method with @JobHandler(…, { client: "billing" })',
  );
});

class UnknownInvoices {
  send(): void {}
}
decorate(JobHandler("invoice:send", { client: "biling" }), UnknownInvoices, "send");

class OtherMails extends Mails {}
class RequestMails extends Mails {}
nest.Injectable({ scope: nest.Scope.REQUEST })(RequestMails);
class TransientMails extends Mails {}
nest.Injectable({ scope: nest.Scope.TRANSIENT })(TransientMails);

test.for<[what: string, providers: Class[], text: string]>([
  ["no handler", [], "worker is set, but no provider has a method with @JobHandler"],
  ["two handlers of a type", [Mails, OtherMails], '"mail:send" has two handlers, Mails.send and OtherMails.send'],
  ["a request-scoped class", [RequestMails], "RequestMails.send handles jobs, but its class has one instance for each request"],
  ["a transient class", [TransientMails], "TransientMails.send handles jobs, but its class has one instance for each request"],
])("a worker with %s is refused at the start", async ([, providers, text]) => {
  await expect(open(MillraceModule.forRoot({ url: "memory:", worker: true }), ...providers)).rejects.toThrow(text);
});

test("what is no job is refused where it is written, and a mistyped option at the start", async () => {
  expect(() => JobHandler({} as never)).toThrow("@JobHandler takes the name of a type or a definition made by defineJob");
  expect(() => BatchJobHandler("not a type")).toThrow("type");
  await expect(open(MillraceModule.forRoot({ wroker: true } as never))).rejects.toThrow("wroker");
});
