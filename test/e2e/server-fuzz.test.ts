import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { type RouteName, ROUTES, splitName } from "../../src/http/contract.ts";
import { createServer, listen } from "../../src/server.ts";

const REQUESTS = 20_000;
/**
 * Statuses that a server may answer hostile requests with. 503 is not among them: nothing here is too much for it. 302: the root, which
 * /jobs/.. means too, leads to the dashboard.
 */
const SOUND = new Set([200, 201, 202, 204, 302, 400, 401, 403, 404, 405, 409, 413, 415, 422, 426]);

const NASTY = [
  "",
  "\u0000",
  "..",
  "../..",
  "%00",
  "%2e%2e",
  "a".repeat(5000),
  "😀",
  "\u202e",
  "__proto__",
  "constructor",
  "*",
  "{}",
  "'",
  "null",
  "-1",
  "1e999",
  "[object Object]",
];
const words = fc.oneof(fc.constantFrom(...NASTY), fc.string(), fc.string({ unit: "binary" }));
const values = fc.oneof(fc.jsonValue(), words, fc.integer(), fc.double(), fc.constantFrom(null, true, 2 ** 53, -0, {}, [], [[]]));

/** Names that the contract knows, so that the fuzz gets past the first check. */
const FIELDS = [...new Set(Object.values(ROUTES).flatMap((route) => [...namesIn(route, "body"), ...namesIn(route, "query")]))];

function namesIn(route: object, part: string): string[] {
  return Object.keys((route as Record<string, { properties?: object }>)[part]?.properties ?? {});
}

const objects = fc.dictionary(fc.oneof(fc.constantFrom(...FIELDS), words), values, { maxKeys: 8 });
const bodies = fc.oneof(
  objects.map((value) => JSON.stringify(value)),
  fc.record({ jobs: fc.array(objects, { maxLength: 5 }) }).map((value) => JSON.stringify(value)),
  objects.map((value) => JSON.stringify({ type: "t", worker_id: "w", ...value })),
  fc.jsonValue().map((payload) => JSON.stringify({ type: "t", payload })),
  fc.json(),
  words,
  fc.json().map((text) => text.slice(0, text.length >> 1)),
);
function seldom<Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

const requests = fc.record({
  route: fc.constantFrom(...(Object.keys(ROUTES) as RouteName[])),
  method: seldom(fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")),
  param: fc.oneof(words, fc.constant("0190d2f0-7b1a-7abc-8def-0123456789ab")),
  query: fc.option(fc.dictionary(fc.oneof(fc.constantFrom(...FIELDS), words), words, { maxKeys: 4 }), { nil: null }),
  body: fc.option(bodies, { nil: null }),
  type: fc.constantFrom("application/json", "application/json", "application/json", "text/plain", "", "application/json; charset=utf-16"),
  origin: seldom(fc.constantFrom("https://evil.test", "null", "nonsense")),
  prefer: seldom(words),
});

test(`${REQUESTS} hostile requests: no 5xx, no crash, and the server is as sound as before`, { timeout: 300_000 }, async () => {
  const client = await connect("memory:");
  const faults: unknown[] = [];
  const server = createServer(client, { open: true, onRequest: ({ error }) => error !== undefined && faults.push(error) });
  const port = await listen(server, { port: 0, host: "127.0.0.1" });
  onTestFinished(async () => {
    await server.drain();
    await port.close({ graceMs: 0 });
    await client.close();
  });
  const streams = new Set<string>(["GET /api/v1/events", "GET /api/v1/leases/watch"]);
  const odd: unknown[] = [];
  const seen = new Set<number>();
  const memoryAt: number[] = [];
  for (const [index, wanted] of fc.sample(requests, { numRuns: REQUESTS, seed: 20_261_115 }).entries()) {
    const { method: ownMethod, path } = splitName(wanted.route);
    const method = wanted.method ?? ownMethod;
    if (streams.has(`${method} ${path}`)) continue;
    const filled = path.replace(/\{\w+\}/, () => encodeURIComponent(wanted.param.toWellFormed()));
    // A wait is not hostile, only long.
    const query =
      wanted.query === null ? "" : `?${new URLSearchParams(Object.entries(wanted.query).filter(([name]) => name !== "wait")).toString()}`;
    const headers: Record<string, string> = { "content-type": wanted.type };
    if (wanted.origin !== null) headers["origin"] = wanted.origin;
    if (wanted.prefer !== null && /^[\x20-\x7e]*$/.test(wanted.prefer)) headers["prefer"] = wanted.prefer;
    const hasBody = wanted.body !== null && method !== "GET" && method !== "HEAD";
    const init = { method, headers, body: hasBody ? wanted.body!.replaceAll('"wait"', '"wait_"') : null };
    const address = `${filled}${query}`;
    // One of twenty comes over a socket.
    const response =
      index % 20 === 0 ? await fetch(port.url + address, init) : await server.fetch(new Request(`http://localhost${address}`, init));
    const text = await response.text();
    seen.add(response.status);
    if (!SOUND.has(response.status) || /\bat .*\.ts:\d+|node_modules/.test(text))
      odd.push([method, address, init.body, response.status, text.slice(0, 300)]);
    if (index % (REQUESTS / 4) === 0) memoryAt.push(process.memoryUsage().rss);
  }
  expect(odd).toEqual([]);
  expect([...seen].toSorted((a, b) => a - b)).toEqual([200, 201, 202, 204, 302, 400, 403, 404, 405, 415, 422, 426]);
  expect(faults).toEqual([]);
  expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  expect((await fetch(`${port.url}/health`)).status).toBe(200);
  expect(await client.enqueue("t")).toMatchObject({ created: true });
  // Flat after the first quarter has warmed it up: what came in were a few thousand small jobs.
  expect(memoryAt.at(-1)! - memoryAt[1]!).toBeLessThan(256 * 1024 * 1024);
});
