import { describe, expect, onTestFinished, test, vi } from "vitest";
import { JOB_OPTIONS } from "../../../src/core/job-options.ts";
import { type Api, openApi } from "./open-api.ts";

/** Every kind of JSON that `JSON.parse` and `JSON.stringify` together would change. */
const EXACT = String.raw`{ "id": 9007199254740993, "zero": -0, "one": 1.0, "many":[1e2, 0.10, 123456789012345678901234567890], "b":1, "1":2, "é":"\u00e9\/" }`;

async function post(api: Api, path: string, body: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const response = await api.send(path, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
  return { status: response.status, text: await response.text() };
}

async function get(api: Api, path: string): Promise<string> {
  return (await api.send(path)).text();
}

function idIn(text: string): string {
  return (JSON.parse(text) as { id: string }).id;
}

describe("a body", () => {
  test.each([
    ["/api/v1/jobs", '{"type":"t","payload":{"n":1.50},"max_retries":2,"tags":["a"]}'],
    ["/api/v1/jobs", '{"type":"http:request","payload":{"url":"https://example.com/"}}'],
    ["/api/v1/jobs/batch", '{"jobs":[{"type":"t","payload":{"n":1.50}},{"type":"t","payload":[2]}]}'],
  ])("of %s is parsed once, and nothing of it again: %s", async (path, body) => {
    const api = await openApi();
    const parse = vi.spyOn(JSON, "parse");
    onTestFinished(() => parse.mockRestore());
    expect((await post(api, path, body)).status).toBeLessThan(300);
    // The caller in this process, too, parses something, of its own.
    expect(parse.mock.calls.map(([text]) => text).filter((text) => body.includes(text))).toEqual([body]);
  });

  test("with an option that the library refuses names it as the wire does", async () => {
    const api = await openApi();
    const check = vi.spyOn(JOB_OPTIONS.maxRetries, "read");
    onTestFinished(() => check.mockRestore());
    const { status, text } = await post(api, "/api/v1/jobs", '{"type":"t","payload":1,"max_retries":101}');
    expect(status).toBe(422);
    expect(JSON.parse(text)).toMatchObject({
      field: "max_retries",
      detail: `max_retries must be ${JOB_OPTIONS.maxRetries.mustBe}; got 101`,
    });
    expect(check).toHaveBeenCalledOnce();
  });
});

describe("the text of a payload", () => {
  test("is kept as it was sent, and given back so", async () => {
    const api = await openApi();
    const created = await post(api, "/api/v1/jobs", `{"type":"t", "p\\u0061yload" : ${EXACT} ,"meta":{"payload":1}}`);
    expect(created).toMatchObject({ status: 201, text: expect.stringContaining(`"payload":${EXACT},`) as string });
    const id = idIn(created.text);
    expect(await get(api, `/api/v1/jobs/${id}`)).toContain(`"payload":${EXACT},`);
    expect(await get(api, `/api/v1/jobs/${id}?wait=1ms`)).toContain(`"payload":${EXACT},`);
    expect(await get(api, `/jobs/${id}`)).toContain(`"payload":${EXACT},`);
    expect(await api.client.get(id)).toMatchObject({ payload: { id: 2 ** 53, one: 1 } });
  });

  test("is kept in a batch, each its own", async () => {
    const api = await openApi();
    const items = `[{"type":"a","payload":9007199254740993},{"type":"b"},7,{"payload":1.50,"type":"c"},{"payload":[-0],"type":"d","meta":{"payload":2.0}}]`;
    const { text } = await post(api, "/api/v1/jobs/batch", `{"jobs":${items}}`);
    const { results } = JSON.parse(text) as { results: { status: number; job?: { id: string } }[] };
    expect(results.map(({ status }) => status)).toEqual([201, 201, 422, 201, 201]);
    const kept = ["9007199254740993", "null", "", "1.50", "[-0]"];
    for (const [index, { job }] of results.entries()) {
      if (job === undefined) continue;
      expect(text).toContain(`"payload":${kept[index]},`);
      expect(await get(api, `/api/v1/jobs/${job.id}`)).toContain(`"payload":${kept[index]},`);
    }
  });

  test("reaches workers over HTTP, and their results are kept likewise", async () => {
    const api = await openApi();
    const id = idIn((await post(api, "/api/v1/jobs", `{"type":"t","payload":${EXACT}}`)).text);
    const { text } = await post(api, "/api/v1/leases", `{"worker_id":"w"}`);
    expect(text).toContain(`"payload":${EXACT},`);
    const { fence } = (JSON.parse(text) as { jobs: { fence: number }[] }).jobs[0]!;
    const settled = `{"outcomes":[{"id":"${id}","fence":${fence},"outcome":"completed","result": ${EXACT}}]}`;
    expect(await post(api, "/api/v1/leases/settle", settled)).toMatchObject({ status: 200 });
    expect(await get(api, `/api/v1/jobs/${id}`)).toContain(`"result":${EXACT}}`);
  });

  test("is kept by a schedule, and by the jobs that it makes", async () => {
    const api = await openApi();
    const made = await post(api, "/api/v1/schedules", `{"name":"s","every":"1h","type":"t","payload":${EXACT}}`);
    expect(made).toMatchObject({ status: 201, text: expect.stringContaining(`"payload":${EXACT},`) as string });
    for (const path of ["/api/v1/schedules", "/api/v1/schedules/s"]) expect(await get(api, path)).toContain(`"payload":${EXACT},`);
    const run = await post(api, "/api/v1/schedules/s/run", "");
    expect(run.text).toContain(`"payload":${EXACT},`);
    expect(await get(api, `/api/v1/jobs/${idIn(run.text)}`)).toContain(`"payload":${EXACT},`);
    const changed = `{"every":"1h","type":"t","payload":9007199254740992}`;
    await api.send("/api/v1/schedules/s", { method: "PUT", body: changed, headers: { "content-type": "application/json" } });
    expect(await get(api, "/api/v1/schedules/s")).toContain(`"payload":9007199254740992,`);
  });

  test("is what a key stands for: numbers are equal that have the same decimal value", async () => {
    const api = await openApi();
    const enqueue = (payload: string): Promise<{ status: number; text: string }> =>
      post(api, "/api/v1/jobs", `{"type":"t","payload":${payload}}`, { "idempotency-key": "k" });
    const first = await enqueue("[9007199254740993,1,0]");
    expect(first.status).toBe(201);
    const again = await enqueue("[ 9007199254740993.0, 1e0, -0 ]");
    expect(again).toMatchObject({ status: 200, text: expect.stringContaining(`"payload":[9007199254740993,1,0],`) as string });
    const other = await enqueue("[9007199254740992,1,0]");
    expect(other).toMatchObject({ status: 409, text: expect.stringContaining(`"payload":[9007199254740993,1,0],`) as string });
  });
});

test("a payload that no double can hold at all is refused, by its place", async () => {
  const api = await openApi();
  const { status, text } = await post(api, "/api/v1/jobs", `{"type":"t","payload":{"far":[1e999]}}`);
  expect(status).toBe(422);
  expect(JSON.parse(text)).toMatchObject({ code: "invalid_input", field: "payload.far[0]" });
});

test("a payload that nests too deep is refused", async () => {
  const api = await openApi();
  const { status } = await post(api, "/api/v1/jobs", `{"type":"t","payload":${"[".repeat(101)}${"]".repeat(101)}}`);
  expect(status).toBe(422);
});
