import { describe, expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import { readSecrets, signedHeaders } from "../../../src/webhook/sign.ts";
import { type ReceivedWebhook, verifyWebhook } from "../../../src/webhook/verify.ts";

const NOW = Date.UTC(2030, 0, 1);
const BODY = '{"type":"job.completed"}';

function signed(secrets: string | string[], overrides: Partial<ReceivedWebhook> = {}): ReceivedWebhook {
  const headers = signedHeaders(readSecrets(secrets, "secret"), "id-1", NOW, Buffer.from(BODY));
  return { body: BODY, headers, secret: "s3cret", now: NOW, ...overrides };
}

function errorOf(received: ReceivedWebhook): MillraceError {
  try {
    verifyWebhook(received);
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error("it was let pass");
}

describe("a delivery", () => {
  test("signed with our secret is let pass", () => {
    expect(verifyWebhook(signed("s3cret"))).toEqual({ id: "id-1", sentAt: NOW, event: { type: "job.completed" } });
  });

  test("is verified as the Standard Webhooks specification has it", () => {
    // The example of the specification's reference libraries.
    const received = {
      body: '{"test": 2432232314}',
      headers: {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      },
      secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      now: 1_614_265_330_000,
    };
    expect(verifyWebhook(received).event).toEqual({ test: 2432232314 });
  });

  test("signed with two secrets is let pass by either, and by a receiver that knows both", () => {
    for (const secret of ["old", "new", ["new", "other"], "other,old"]) {
      expect(verifyWebhook(signed("old,new", { secret })).id).toBe("id-1");
    }
  });

  test("is read from a Headers, from headers in any letters, and from bytes", () => {
    const { headers } = signed("s3cret") as { headers: Record<string, string> };
    const capitals = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const each of [new Headers(headers), capitals]) {
      expect(verifyWebhook(signed("s3cret", { headers: each, body: Buffer.from(BODY) })).id).toBe("id-1");
    }
  });
});

describe("W15: a delivery is refused", () => {
  test.each([
    ["signed with another secret", signed("other"), "webhook-signature"],
    ["whose body was changed", signed("s3cret", { body: BODY.replace("completed", "dead") }), "webhook-signature"],
    ["that is 5 minutes and a second old", signed("s3cret", { now: NOW + 301_000 }), "webhook-timestamp"],
    ["from more than 5 minutes ahead", signed("s3cret", { now: NOW - 301_000 }), "webhook-timestamp"],
    ["whose tolerance is less than its age", signed("s3cret", { now: NOW + 2000, tolerance: "1s" }), "webhook-timestamp"],
    ["without headers", signed("s3cret", { headers: {} }), "webhook-id"],
    ["that is not signed", signed("s3cret", { headers: signedHeaders([], "id-1", NOW, Buffer.from(BODY)) }), "webhook-signature"],
  ])("%s", (_, received, field) => {
    expect(errorOf(received)).toMatchObject({ code: "invalid_input", field });
  });

  test.each(["id-2", "id-1.", "id-1 "])("whose id became %j", (id) => {
    const received = signed("s3cret");
    expect(errorOf({ ...received, headers: { ...(received.headers as object), "webhook-id": id } }).field).toBe("webhook-signature");
  });

  test.each(["1e9", "", "-1", "99999999999999999999", "1893456000000", "soon"])("whose time became %j", (time) => {
    const received = signed("s3cret");
    expect(errorOf({ ...received, headers: { ...(received.headers as object), "webhook-timestamp": time } }).field).toBe(
      "webhook-timestamp",
    );
  });

  test.each(["v1,", "v1", "v2,AAAA", "v1,AAAA", ",", " ", `v1,${"A".repeat(43)}=`, "v1,\u0000", "x".repeat(5000)])(
    "whose signature became %j",
    (signature) => {
      const received = signed("s3cret");
      const headers = { ...(received.headers as object), "webhook-signature": signature };
      expect(errorOf({ ...received, headers }).field).toBe("webhook-signature");
    },
  );

  test("although it is signed, when its body is not JSON", () => {
    const headers = signedHeaders(readSecrets("s3cret", "secret"), "id-1", NOW, Buffer.from("hello"));
    expect(errorOf(signed("s3cret", { headers, body: "hello" })).message).toBe("the body is signed, but not JSON");
  });
});

describe("a mistake of the receiver's is told", () => {
  test.each([
    [{ body: { type: "job.completed" } as unknown as string }, "body must be the body as it arrived"],
    [{ secret: "" }, "secret must be one or more secrets"],
    [{ secret: "a,,b" }, "secret must be one or more secrets"],
    [{ secret: [] }, "secret must be one or more secrets"],
    [{ secret: undefined as unknown as string }, "secret must be one or more secrets"],
    [{ tolerance: "soon" as "1s" }, "tolerance must be a time"],
    [{ headers: null as unknown as Headers }, "headers must be the headers of the request"],
  ])("%j", (overrides, message) => {
    expect(errorOf(signed("s3cret", overrides)).message).toContain(message);
  });

  test("without telling the secret", () => {
    expect(errorOf(signed("s3cret", { secret: ["top-secret", ""] })).message).not.toContain("top-secret");
  });
});
