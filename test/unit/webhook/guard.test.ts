import { describe, expect, test } from "vitest";
import { controlOf } from "../../../src/core/control-errors.ts";
import { Blocked, Guard } from "../../../src/webhook/guard.ts";
import { resolveHost } from "../../../src/webhook/resolve-host.ts";

const { signal } = new AbortController();

describe("W14: a URL", () => {
  const guard = new Guard();

  test.each([
    "http://127.1/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0/",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://[::]/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[0:0:0:0:0:ffff:7f00:0001]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
  ])("%s is blocked before anybody is asked", (url) => {
    expect(() => guard.readUrl(url)).toThrow(Blocked);
    expect(() => guard.readUrl(url)).toThrow(/^the URL points to an? .*\. To allow it, set WEBHOOK_ALLOW/);
  });

  test.each([
    ["ftp://example.com/", /must begin with http:\/\/ or https:\/\//],
    ["file:///etc/passwd", /must begin with http:\/\/ or https:\/\//],
    ["gopher://example.com/", /must begin with http:\/\/ or https:\/\//],
    ["javascript:alert(1)", /must begin with http:\/\/ or https:\/\//],
    ["http://user@example.com/", /user name or password/],
    ["http://:secret@example.com/", /user name or password/],
    ["http://example.com:22/", /port 22/],
    ["http://example.com:25/", /port 25/],
    ["https://example.com:6379/", /port 6379/],
    ["http://example.com:0/", /port 0/],
    ["example.com", /not valid/],
    ["http://", /not valid/],
  ])("%s is refused", (url, why) => {
    expect(() => guard.readUrl(url)).toThrow(why);
  });

  test.each([
    "http://example.com/",
    "https://example.com/a?b#c",
    "http://example.com:8080/",
    "https://example.com:8443/",
    "http://8.8.8.8/",
  ])("%s is let pass", (url) => expect(guard.readUrl(url).href).toBe(url));

  test("that is too long is refused", () => {
    expect(() => guard.readUrl(`http://example.com/${"a".repeat(9000)}`)).toThrow(/longer than/);
  });

  test("does not show its secrets in the refusal", () => {
    expect(() => guard.readUrl("http://ann:hunter2@example.com/")).toThrow(expect.not.objectContaining({ message: /hunter2/ }));
  });
});

describe("W14: a host", () => {
  const guardOf = (...addresses: string[]): Guard =>
    new Guard({ resolve: async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })) });

  test("passes with all of its addresses", async () => {
    const addresses = await guardOf("8.8.8.8", "2606:4700::1").addressesOf(new URL("http://example.com/"), signal);
    expect(addresses.map(({ address }) => address)).toEqual(["8.8.8.8", "2606:4700::1"]);
  });

  test("is blocked by one bad address among good ones", async () => {
    const blocked = guardOf("8.8.8.8", "10.0.0.1").addressesOf(new URL("http://example.com/"), signal);
    await expect(blocked).rejects.toThrow("the URL points to a private address (example.com is 10.0.0.1)");
    await expect(blocked).rejects.toBeInstanceOf(Blocked);
  });

  test.each(["http://localhost/", "http://localhost./", "http://a.localhost/", "http://LOCALHOST/"])(
    "%s is this machine, whatever a name server says",
    async (url) => {
      const lying = guardOf("8.8.8.8");
      expect(() => lying.readUrl(url)).toThrow(Blocked);
      await expect(lying.addressesOf(new URL(url), signal)).rejects.toThrow(Blocked);
    },
  );

  test("without an address fails, and may be tried again", async () => {
    const failed = guardOf().addressesOf(new URL("http://example.com/"), signal);
    await expect(failed).rejects.toThrow("example.com has no address");
    expect(controlOf(await failed.catch((error: unknown) => error))).toBeNull();
  });

  test("that is blocked goes to the dead letters", () => {
    expect(controlOf(new Blocked("no"))).toEqual({ kind: "discard" });
  });
});

describe("the system's look-up", () => {
  test("answers everybody, though only two at a time", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => resolveHost("localhost", signal)));
    for (const addresses of answers) expect(addresses.length).toBeGreaterThan(0);
  });

  test("does not look for those who left while they waited, and goes on", async () => {
    const left = AbortSignal.abort(new Error("gone"));
    const answers = await Promise.allSettled([left, signal, left, signal, left].map((each) => resolveHost("localhost", each)));
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "fulfilled", "rejected"]);
  });
});
