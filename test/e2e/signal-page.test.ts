// The page behind ctx.signalUrl, as somebody without a key meets it.

import { createServer as createNodeServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { connect } from "../../src/connect.ts";
import { signLink } from "../../src/core/signal-links.ts";
import { createServer, listen, type ServerOptions } from "../../src/server.ts";
import { until } from "../faults/until.ts";

const SECRET = "a-secret-of-the-tests-of-links";
const KEYS = ["a-key-that-nobody-here-has"];
/** What a browser sends with a form of a page that hides its address. */
const FORM = { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded", origin: "null" }, body: "" };

interface Opened {
  readonly client: Client;
  /** The links that the handler made, and its job. */
  readonly begin: (...payloads: readonly unknown[]) => Promise<{ id: string; links: readonly string[] }>;
}

/** A server at this path, and a worker whose handler makes a link for each payload and waits for the first answer. */
async function open({ basePath = "", ...options }: ServerOptions = {}): Promise<Opened> {
  const signals = { url: "http://nowhere.test", secret: SECRET };
  const client = await connect("memory:", { upkeep: true, signals });
  const server = createServer(client, { keys: KEYS, signalSecret: SECRET, basePath, background: false, onTrouble: () => {}, ...options });
  const node = createNodeServer(server.listener).listen(0, "127.0.0.1");
  await once(node, "listening");
  signals.url = `http://127.0.0.1:${(node.address() as AddressInfo).port}${basePath}`;
  onTestFinished(async () => {
    await server.close({ grace: 0 });
    node.close();
    node.closeAllConnections();
    await client.close({ grace: 0 });
  });
  client.work({
    ask: async (payloads, ctx) => {
      const links = await ctx.step("links", () =>
        Promise.all((payloads as unknown[]).map((payload) => ctx.signalUrl("approval & more", { payload, ttl: "1h" }))),
      );
      ctx.log(links.join(" "));
      return ctx.waitFor("approval & more");
    },
  });
  return {
    client,
    async begin(...payloads) {
      const { id } = await client.enqueue("ask", payloads);
      await until(async () => (await client.get(id))?.status === "blocked");
      return { id, links: (await client.steps(id)).find(({ name }) => name === "links")!.value as string[] };
    },
  };
}

async function read(link: string, init?: RequestInit): Promise<{ status: number; html: string; title: string; headers: Headers }> {
  const response = await fetch(link, init);
  const html = await response.text();
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  return { status: response.status, html, title: /<h1>(.*?)<\/h1>/.exec(html)![1]!, headers: response.headers };
}

test("GET shows what is asked and changes nothing; the button sends it, and a second click is a success", async () => {
  const { client, begin } = await open();
  const { id, links } = await begin({ approved: true, note: "<script>alert('&')</script>\u202e", n: 1 });
  for (let look = 0; look < 3; look++) {
    const { status, html, title, headers } = await read(links[0]!);
    expect([status, title]).toEqual([200, "Send “approval &amp; more”?"]);
    expect(html).toContain("ask (");
    expect(html).toContain(id);
    expect(html).toContain("&lt;script&gt;alert('&amp;')&lt;/script&gt;\\u202e");
    expect(html).not.toMatch(/<script|\u202e|javascript:| on\w+=/);
    expect(html.match(/<form method="post"><button>/g)).toHaveLength(1);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    );
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  }
  expect((await client.get(id))?.status).toBe("blocked");
  for (let click = 0; click < 2; click++) expect(await read(links[0]!, FORM)).toMatchObject({ status: 200, title: "Sent" });
  const job = await client.wait(id);
  expect(job.result).toMatchObject({ approved: true, n: 1 });
});

test("a link without a payload is an answer, and no timeout", async () => {
  const { client } = await open();
  client.work({
    plain: async (_, ctx) => [
      await ctx.step("link", () => ctx.signalUrl("go")),
      (await ctx.waitFor("go", { timeout: "1h" })) === undefined,
    ],
  });
  const { id } = await client.enqueue("plain");
  await until(async () => (await client.get(id))?.status === "blocked");
  const link = (await client.steps(id))[0]!.value as string;
  const page = await read(link);
  expect(page.status).toBe(200);
  expect(page.html).not.toContain("What is sent");
  expect(await read(link, FORM)).toMatchObject({ status: 200, title: "Sent" });
  expect((await client.wait(id)).result).toEqual([link, true]);
});

test("of two links the first answer counts, and both say so afterwards", async () => {
  const { client, begin } = await open();
  const { id, links } = await begin({ approved: true }, { approved: false });
  const [yes, no] = links as [string, string];
  // Paused, so that the job waits to run while the second answer comes.
  await client.pause("default");
  expect(await read(yes, FORM)).toMatchObject({ status: 200, title: "Sent" });
  expect(await read(no, FORM)).toMatchObject({ status: 409, title: "Already answered" });
  expect(await read(no)).toMatchObject({ status: 200, title: "Already answered" });
  await client.resume("default");
  expect((await client.wait(id)).result).toEqual({ approved: true });
  for (const init of [{}, FORM]) {
    expect(await read(yes, init)).toMatchObject({ status: 200, title: "Sent" });
    expect(await read(no, init)).toMatchObject({ status: 410, title: "The job has ended" });
  }
  await client.remove(id);
  for (const init of [{}, FORM]) expect(await read(yes, init)).toMatchObject({ status: 410, title: "The job does not exist any more" });
});

test("a link that was forged, cut or made with another secret, and one that has expired, are told apart plainly", async () => {
  const { begin } = await open();
  const { id, links } = await begin(null);
  const [link] = links as [string];
  const place = link.slice(0, link.lastIndexOf("/") + 1);
  const forged = signLink({ id, name: "approval & more", payload: "true", expiresAt: Date.now() + 60_000 }, "another-secret-of-tests");
  for (const token of [forged, link.slice(place.length, -1), "x", "x.y", `${link.slice(place.length)}.z`])
    for (const init of [{}, FORM]) expect(await read(place + token, init)).toMatchObject({ status: 404, title: "This link is not valid" });
  const old = signLink({ id, name: "approval & more", payload: null, expiresAt: Date.now() - 1 }, SECRET);
  for (const init of [{}, FORM]) expect(await read(place + old, init)).toMatchObject({ status: 410, title: "This link has expired" });
});

test("a secret that is being replaced still reads its links", async () => {
  const { begin } = await open({ signalSecret: ["the-new-secret-of-the-tests", SECRET] });
  const { links } = await begin(null);
  expect(await read(links[0]!, FORM)).toMatchObject({ status: 200, title: "Sent" });
});

test("works under the base path of a mounted server, and needs no key there", async () => {
  const { client, begin } = await open({ basePath: "/admin/jobs" });
  const { id, links } = await begin({ ok: 1 });
  expect(links[0]).toContain("/admin/jobs/signal/");
  expect(await read(links[0]!)).toMatchObject({ status: 200 });
  expect(await read(links[0]!, FORM)).toMatchObject({ status: 200, title: "Sent" });
  expect((await client.wait(id)).result).toEqual({ ok: 1 });
});

test("an address that asks too often has to wait", async () => {
  const { begin } = await open();
  const { links } = await begin(null);
  let last = await read(links[0]!);
  // What is allowed comes back with time, also while a slow machine asks.
  for (let requests = 1; last.status !== 429 && requests < 600; requests++) last = await read(links[0]!);
  expect(last).toMatchObject({ status: 429, title: "Too many requests" });
  expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("where the address is not known, each link has a limit of its own", async () => {
  const client = await connect("memory:");
  const server = createServer(client, { keys: KEYS, signalSecret: SECRET, background: false });
  onTestFinished(async () => {
    await server.close({ grace: 0 });
    await client.close();
  });
  const { id } = await client.enqueue("ask");
  const [one, other] = ["one", "other"].map(
    (name) => `http://mounted.test/signal/${signLink({ id, name, payload: null, expiresAt: Date.now() + 60_000 }, SECRET)}`,
  ) as [string, string];
  const ask = async (link: string): Promise<number> => (await server.fetch(new Request(link))).status;
  for (let request = 0; request < 60; request++) expect(await ask(one)).toBe(200);
  let last = await ask(one);
  for (let requests = 61; last === 200 && requests < 600; requests++) last = await ask(one);
  expect([last, await ask(other)]).toEqual([429, 200]);
});

test("a secret that is too short is refused, and not shown", async () => {
  const client = await connect("memory:");
  onTestFinished(() => client.close());
  expect(() => createServer(client, { signalSecret: "short-secret" })).toThrow(
    /^signalSecret must be one secret of at least 16 characters/,
  );
  await expect(connect("memory:", { signals: { url: "https://a.test", secret: "hush" } })).rejects.toThrow(
    /^signals must be the address of your server and a secret of at least 16 characters: (?!.*hush)/,
  );
});

test("a worker of a server gets links that lead to that server", async () => {
  const { client } = await open();
  const server = createServer(client, { keys: KEYS, signalSecret: SECRET, background: false });
  const port = await listen(server, { port: 0 });
  const remote = await connect(port.url, { apiKey: KEYS[0]! });
  onTestFinished(async () => {
    await remote.close({ grace: 0 });
    await server.close({ grace: 0 });
    await port.close({ graceMs: 0 });
  });
  remote.work({ far: (_payload, ctx) => ctx.signalUrl("go", { payload: { n: 1 } }) });
  const { id } = await remote.enqueue("far");
  expect((await remote.wait(id)).result).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/signal\//);
});
