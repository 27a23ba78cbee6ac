import { describe, expect, test } from "vitest";
import { parseRedisUrl } from "../../../../src/store/redis/url.ts";

const PLAIN = {
  nodes: [{ host: "127.0.0.1", port: 6379 }],
  cluster: false,
  sentinel: null,
  tls: false,
  username: undefined,
  password: undefined,
  db: 0,
  prefix: "millrace",
};

describe("a redis URL", () => {
  test.each<[string, Partial<typeof PLAIN> | object]>([
    ["redis://", {}],
    ["redis://127.0.0.1", {}],
    ["redis://cache.example.org:6380/3", { nodes: [{ host: "cache.example.org", port: 6380 }], db: 3 }],
    ["REDISS://h", { nodes: [{ host: "h", port: 6379 }], tls: true }],
    ["redis://[::1]:7000", { nodes: [{ host: "::1", port: 7000 }] }],
    ["redis://ann:p%40ss%2Fword@h/", { nodes: [{ host: "h", port: 6379 }], username: "ann", password: "p@ss/word" }],
    ["redis://:secret@h", { nodes: [{ host: "h", port: 6379 }], password: "secret" }],
    ["redis://h?prefix=shop:jobs", { nodes: [{ host: "h", port: 6379 }], prefix: "shop:jobs" }],
    [
      "redis://a:1,b:2,c/?cluster=true",
      {
        nodes: [
          { host: "a", port: 1 },
          { host: "b", port: 2 },
          { host: "c", port: 6379 },
        ],
        cluster: true,
      },
    ],
    [
      "rediss+sentinel://ann:secret@a,b:1/main/2?sentinelPassword=p%26w&prefix=x",
      {
        nodes: [
          { host: "a", port: 26379 },
          { host: "b", port: 1 },
        ],
        sentinel: { name: "main", username: undefined, password: "p&w" },
        tls: true,
        username: "ann",
        password: "secret",
        db: 2,
        prefix: "x",
      },
    ],
    ["redis://a?cluster=true", { nodes: [{ host: "a", port: 6379 }], cluster: true }],
  ])("%s", (url, expected) => {
    expect(parseRedisUrl(url)).toEqual({ ...PLAIN, ...expected });
  });

  test.each([
    ["redis:h", "url"],
    ["redis://h:0", "url"],
    ["redis://h:99999", "url"],
    ["redis://a,b", "url"],
    ["redis://h/x", "url"],
    ["redis://a/1?cluster=true", "url"],
    ["redis://h?prefx=x", "url"],
    ["redis://h?cluster=yes", "cluster"],
    ["redis+sentinel://h", "url"],
    ["redis+sentinel://h/main/0/1", "url"],
    ["redis+sentinel://h/%zz", "url"],
    ["redis://%zz:p@h", "url"],
    ["redis://u:100%@h", "url"],
    ["redis+sentinel://h/main?cluster=true", "url"],
    ["redis://h?sentinelPassword=x", "url"],
    ["redis://h?prefix=a/b", "prefix"],
    ["redis://h?prefix={x}", "prefix"],
    ["redis://h?prefix=", "prefix"],
  ])("%s is refused and names %s", (url, field) => {
    expect(() => parseRedisUrl(url)).toThrow(expect.objectContaining({ code: "invalid_input", field }));
  });

  test("a refusal never shows the password", () => {
    expect(() => parseRedisUrl("redis://u:secret@h:x")).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("secret") }),
    );
    expect(() => parseRedisUrl("redis://u:secret@h#x")).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("secret") }),
    );
    expect(() => parseRedisUrl("redis://u:secret%@h")).toThrow(
      expect.objectContaining({ code: "invalid_input", message: expect.not.stringContaining("secret") }),
    );
  });
});
