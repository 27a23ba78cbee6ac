import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJson } from "../../../src/http/read-json.ts";
import { openApi, WAYS } from "./open-api.ts";

const JSON_TYPE = { "content-type": "application/json" };

function stream(...chunks: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return ReadableStream.from(chunks.map((chunk) => (typeof chunk === "string" ? encoder.encode(chunk) : chunk)));
}

describe.each(WAYS)("by %s: a body", (way) => {
  test.each([
    ["nothing", ""],
    ["half an object", '{"type":'],
    ["a word", "hello"],
    ["NaN", '{"type":"t","payload":NaN}'],
    ["two values", '{"type":"t"}{"type":"t"}'],
    ["a BOM (B02)", '\ufeff{"type":"t"}'],
    ["a comment", '{"type":"t"/* */}'],
  ])("400: %s is not JSON", async (_, body) => {
    const { refuse } = await openApi({}, way);
    expect(await refuse("POST /api/v1/jobs", { body, headers: JSON_TYPE }, "malformed_body")).toMatchObject({ status: 400 });
  });

  test("400 (B02): invalid UTF-8 is refused, not replaced", async () => {
    const { refuse, client } = await openApi({}, way);
    const bytes = Buffer.concat([Buffer.from('{"type":"t","payload":"'), Buffer.from([0xc3, 0x28, 0xff]), Buffer.from('"}')]);
    const problem = await refuse("POST /api/v1/jobs", { body: new Uint8Array(bytes), headers: JSON_TYPE }, "malformed_body");
    expect(problem.detail).toContain("UTF-8");
    expect((await client.list()).jobs).toEqual([]);
  });

  test("422 (B06): a name that stands twice is refused by its path, wherever it is", async () => {
    const { refuse } = await openApi({}, way);
    for (const [body, field] of [
      ['{"type":"t","type":"u"}', "type"],
      ['{"type":"t","payload":{"a":{"b":1,"c":[],"b":2}}}', "payload.a.b"],
      ['{"type":"t","payload":[1,{"x":1},{"x":1,"\\u0078":2}]}', "payload[2].x"],
    ]) {
      expect(await refuse("POST /api/v1/jobs", { body: body!, headers: JSON_TYPE }, "invalid_input")).toMatchObject({
        field,
        detail: `${field} is given twice: give it once`,
      });
    }
  });

  test("422: a field that is not known is named, with those that are", async () => {
    const { refuse } = await openApi({}, way);
    const problem = await refuse("POST /api/v1/jobs", { json: { type: "t", prio: 1 } }, "invalid_input");
    expect(problem).toMatchObject({ field: "prio", detail: expect.stringContaining("known fields: type, payload") as string });
  });

  test.each([
    [{ payload: 1 }, "type"],
    [{ type: 5 }, "type"],
    [{ type: "" }, "type"],
    [{ type: "a".repeat(257) }, "type"],
    [{ type: "../x" }, "type"],
    [{ type: "{x}" }, "type"],
    [{ type: "a\nb" }, "type"],
    [{ type: "\u001b[31m" }, "type"],
    [{ type: "😀" }, "type"],
    [{ type: "\u202eabc" }, "type"],
    [{ type: "*" }, "type"],
    [{ type: "'; --" }, "type"],
    [{ type: "t", queue: "a b" }, "queue"],
    [{ type: "t", priority: 1.5 }, "priority"],
    [{ type: "t", priority: 101 }, "priority"],
    [{ type: "t", priority: Number.MAX_SAFE_INTEGER + 2 }, "priority"],
    [{ type: "t", priority: "urgent" }, "priority"],
    [{ type: "t", max_retries: -1 }, "max_retries"],
    [{ type: "t", max_retries: 1e9 }, "max_retries"],
    [{ type: "t", max_lost: -1 }, "max_lost"],
    [{ type: "t", max_lost: 101 }, "max_lost"],
    [{ type: "t", delay: -1 }, "delay"],
    [{ type: "t", delay: "1e999" }, "delay"],
    [{ type: "t", delay: "400000d" }, "delay"],
    [{ type: "t", run_at: "+275761-01-01T00:00:00Z" }, "run_at"],
    [{ type: "t", run_at: "2030-01-01T00:00:00" }, "run_at"],
    [{ type: "t", run_at: 1_900_000_000 }, "run_at"],
    [{ type: "t", scheduled_at: "2030-01-01T00:00:00" }, "scheduled_at"],
    [{ type: "t", run_at: "2030-01-01T00:00:00Z", scheduled_at: "2030-01-01T00:00:00Z" }, "scheduled_at"],
    [{ type: "t", run_at: "2035-01-01T00:00:00Z", delay: 5 }, "run_at"],
    [{ type: "t", timeout: "25d" }, "timeout"],
    [{ type: "t", idempotency_key: "" }, "idempotency_key"],
    [{ type: "t", idempotency_key: "x".repeat(10_000) }, "idempotency_key"],
    [{ type: "t", tags: ["x".repeat(65)] }, "tags"],
    [{ type: "t", tags: [5] }, "tags"],
    [{ type: "t", meta: [1] }, "meta"],
    [{ type: "t", meta: { big: "x".repeat(20_000) } }, "meta"],
    [{ type: "t", webhook_url: "javascript:alert(1)" }, "webhook_url"],
    [{ type: "t", id: "550e8400-e29b-41d4-a716-446655440000" }, "id"],
    [{ type: "t", id: "0190d2f0-7b1a-7abc-8000-0123456789ab" }, "id"],
    [{ type: "../../x" }, "type"],
    [[], "body"],
    [null, "body"],
    ["text", "body"],
  ])("422 (B08, B09, B11, B12, W30): body %# names its field, and nothing is left", async (json, field) => {
    const { refuse, client } = await openApi({}, way);
    const problem = await refuse("POST /api/v1/jobs", { json }, "invalid_input");
    expect(problem).toMatchObject({ status: 422, field });
    expect(problem.detail).toMatch(new RegExp(`^${field.replaceAll(".", "\\.")} `));
    expect((await client.list()).jobs).toEqual([]);
  });

  test("B05, W18: prototypes are data, and pollute nothing", async () => {
    const { ask, refuse, client } = await openApi({}, way);
    const body = '{"type":"t","payload":{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}},"meta":{"__proto__":{"x":1}}}';
    const { id } = (await ask("POST /api/v1/jobs", { body, headers: JSON_TYPE })).body as { id: string };
    expect(JSON.stringify((await client.get(id))?.payload)).toBe('{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}');
    expect(({} as { x?: number }).x).toBeUndefined();
    expect(
      await refuse("POST /api/v1/jobs", { body: '{"type":"t","__proto__":{"queue":"x"}}', headers: JSON_TYPE }, "invalid_input"),
    ).toMatchObject({ field: "__proto__" });
  });

  test("B01, B02: U+0000 and lone surrogates come back as they went in", async () => {
    const { send } = await openApi({}, way);
    const body = '{"type":"t","payload":"a\\u0000b\\ud800c"}';
    const response = await send("/api/v1/jobs", { method: "POST", headers: JSON_TYPE, body });
    expect(await response.text()).toContain('"payload":"a\\u0000b\\ud800c"');
  });

  test("B06: numbers are kept as they were written; 1e400 is none", async () => {
    const { ask, refuse } = await openApi({}, way);
    const { body } = await ask("POST /api/v1/jobs", { body: '{"type":"t","payload":[9007199254740993,-0,1e-400]}', headers: JSON_TYPE });
    // As doubles: what the answer says to the letter is in json-texts.test.ts.
    expect((body as { payload: unknown }).payload).toEqual([9007199254740992, -0, 0]);
    expect(
      await refuse("POST /api/v1/jobs", { body: '{"type":"t","payload":[1e400]}', headers: JSON_TYPE }, "invalid_input"),
    ).toMatchObject({ field: "payload[0]" });
  });

  test("B06, W23: what nests too deep is refused, however deep", async () => {
    const { refuse } = await openApi({}, way);
    for (const depth of [101, 10_000, 100_000]) {
      const body = `{"type":"t","payload":${"[".repeat(depth)}${"]".repeat(depth)}}`;
      expect(await refuse("POST /api/v1/jobs", { body, headers: JSON_TYPE }, "invalid_input")).toMatchObject({ field: "payload" });
    }
  });

  test("B06: a hundred thousand keys are a payload like any other", async () => {
    const { ask } = await openApi({}, way);
    const payload = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`k${index}`, 0]));
    expect((await ask("POST /api/v1/jobs", { json: { type: "t", payload } })).status).toBe(201);
  });

  test("B07: a payload of exactly the limit fits, one byte more is named, and a body beyond the envelope is 413", async () => {
    const { ask, refuse } = await openApi({}, way);
    expect((await ask("POST /api/v1/jobs", { json: { type: "t", payload: "x".repeat(1024 * 1024 - 2) } })).status).toBe(201);
    expect(await refuse("POST /api/v1/jobs", { json: { type: "t", payload: "x".repeat(1024 * 1024 - 1) } }, "invalid_input")).toMatchObject(
      { field: "payload" },
    );
    const problem = await refuse(
      "POST /api/v1/jobs",
      { json: { type: "t", payload: "x".repeat(1024 * 1024 + 65 * 1024) } },
      "body_too_large",
    );
    expect(problem).toMatchObject({ status: 413, detail: expect.stringContaining("1114112 bytes") as string });
  });

  test("B07: a body that does not say how long it is may not go on for ever", async () => {
    const { ask, refuse } = await openApi({}, way);
    expect((await ask("POST /api/v1/jobs", { body: stream('{"type"', ':"t"}'), headers: JSON_TYPE })).status).toBe(201);
    const megabyte = new Uint8Array(256 * 1024).fill(32);
    await refuse("POST /api/v1/jobs", { body: stream(...Array.from({ length: 8 }, () => megabyte)), headers: JSON_TYPE }, "body_too_large");
  });

  test.each([
    ["text/plain"],
    ["application/x-www-form-urlencoded"],
    ["multipart/form-data; boundary=x"],
    ["application/jsonx"],
    ["application/json; charset=utf-16"],
    [""],
  ])("415 (W08): %j is not JSON in UTF-8", async (type) => {
    const { refuse } = await openApi({}, way);
    expect(
      await refuse("POST /api/v1/jobs", { body: '{"type":"t"}', headers: { "content-type": type } }, "unsupported_media_type"),
    ).toMatchObject({ status: 415 });
  });

  test.each(["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"'])("%s is", async (type) => {
    const { ask } = await openApi({}, way);
    expect((await ask("POST /api/v1/jobs", { body: '{"type":"t"}', headers: { "content-type": type } })).status).toBe(201);
  });

  test("415 (B07): a compressed body is not opened, however small", async () => {
    const { refuse } = await openApi({}, way);
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(50 * 1024 * 1024)));
    await refuse("POST /api/v1/jobs", { body: bomb, headers: { ...JSON_TYPE, "content-encoding": "gzip" } }, "unsupported_media_type");
  });

  test("W19: a hundred kilobytes in any field are refused quickly", async () => {
    const { refuse, client } = await openApi({}, way);
    const long = "a".repeat(100_000);
    for (const field of [
      "type",
      "queue",
      "priority",
      "delay",
      "run_at",
      "scheduled_at",
      "timeout",
      "retry_delay",
      "key_ttl",
      "idempotency_key",
      "webhook_url",
      "id",
    ]) {
      expect(await refuse("POST /api/v1/jobs", { json: { type: "t", [field]: long } }, "invalid_input")).toMatchObject({ field });
    }
    expect((await client.list()).jobs).toEqual([]);
  });

  test("what has no body needs no type of one", async () => {
    const { ask, refuse } = await openApi({}, way);
    expect((await ask("POST /api/v1/dead/retry", {})).status).toBe(200);
    expect(await refuse("POST /api/v1/jobs", {}, "malformed_body")).toMatchObject({ detail: "the request has no body: send JSON" });
  });
});

describe("readJson", () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  test("reads what JSON.parse reads, for any JSON", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(readJson(bytes(text)).value).toEqual(JSON.parse(text));
      }),
    );
  });

  test("is not fooled by colons, quotes and braces inside of strings", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ unit: fc.constantFrom(":", '"', "\\", "{", "}", "[", ",", "a") }),
          fc.string({ unit: fc.constantFrom(":", '"', "\\", "{", "a") }),
        ),
        (value) => {
          expect(readJson(bytes(JSON.stringify(value))).value).toEqual(JSON.parse(JSON.stringify(value)));
        },
      ),
    );
  });

  test("sees a name that stands twice at any place", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("[", "{"), { maxLength: 8 }), (opens) => {
        const twice = opens.reduceRight((inner, open) => (open === "[" ? `[0,${inner}]` : `{"k":${inner}}`), '{"a":1,"b":{"a":2},"a":3}');
        expect(() => readJson(bytes(twice))).toThrow(/a is given twice/);
      }),
    );
  });
});
