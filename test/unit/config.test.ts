import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { clientOptions, type ConfigFile, SETTING_NAMES, SETTINGS, workOptions } from "../../src/config.ts";
import { loadConfigFile } from "../../src/config/config-file.ts";
import {
  type ConfigSources,
  describeStore,
  misspelled,
  readConfig,
  readSetting,
  showValue,
  unusedStores,
} from "../../src/config/read-config.ts";
import type { Setting } from "../../src/config/setting.ts";

function urlFrom(sources: ConfigSources): string {
  return describeStore(readConfig(sources, ["url"]));
}

describe("which store is meant", () => {
  test.each<[string, ConfigSources, string]>([
    ["nothing is said", {}, "sqlite:millrace.db (default)"],
    ["a flag", { flags: { url: "memory:" }, env: { MILLRACE_URL: "sqlite:a.db" } }, "memory: (--url)"],
    [
      "our own variable before others",
      { env: { MILLRACE_URL: "sqlite:a.db", DATABASE_URL: "postgres://h/db" } },
      "sqlite:a.db (MILLRACE_URL)",
    ],
    [
      "DATABASE_URL of a PostgreSQL",
      { env: { DATABASE_URL: "postgresql://h/db", REDIS_URL: "redis://h" } },
      "postgresql://h/db (DATABASE_URL)",
    ],
    ["DATABASE_URL of another database", { env: { DATABASE_URL: "mysql://h/db", REDIS_URL: "redis://h" } }, "redis://h (REDIS_URL)"],
    ["REDIS_URL before REDIS_ADDR", { env: { REDIS_ADDR: "a:1", REDIS_URL: "rediss://b:2" } }, "rediss://b:2 (REDIS_URL)"],
    ["REDIS_ADDR as host and port", { env: { REDIS_ADDR: "localhost:6379" } }, "redis://localhost:6379 (REDIS_ADDR)"],
    ["REDIS_URL as host and port", { env: { REDIS_URL: "localhost:6379" } }, "redis://localhost:6379 (REDIS_URL)"],
    ["an empty variable is none", { env: { MILLRACE_URL: "", DATABASE_URL: "" } }, "sqlite:millrace.db (default)"],
    ["the environment before a file", { env: { REDIS_URL: "redis://h" }, file: file({ url: "memory:" }) }, "redis://h (REDIS_URL)"],
    ["a file before the default", { file: file({ url: "memory:" }) }, "memory: (millrace.config.ts)"],
    ["a server", { env: { MILLRACE_URL: "https://jobs.example.com" } }, "https://jobs.example.com (MILLRACE_URL)"],
    [
      "a password is not shown",
      { env: { DATABASE_URL: "postgres://ann:s3cret@h/db?sslmode=disable" } },
      "postgres://ann:***@h/db?sslmode=disable (DATABASE_URL)",
    ],
    [
      "nor in a parameter",
      { env: { DATABASE_URL: "postgres://h/db?user=ann&password=s3cret" } },
      "postgres://h/db?user=ann&password=*** (DATABASE_URL)",
    ],
  ])("%s", (_name, sources, wanted) => {
    expect(urlFrom(sources)).toBe(wanted);
  });

  test.each<[string, ConfigSources, string[]]>([
    ["DATABASE_URL counts before Redis", { env: { DATABASE_URL: "postgres://h/db", REDIS_ADDR: "h:6379" } }, ["REDIS_ADDR"]],
    ["a DATABASE_URL that is no PostgreSQL", { env: { DATABASE_URL: "mysql://h/db" } }, ["DATABASE_URL"]],
    ["an empty variable names none", { env: { DATABASE_URL: "postgres://h/db", REDIS_ADDR: "" } }, []],
    ["who names ours knows", { env: { MILLRACE_URL: "memory:", DATABASE_URL: "postgres://h/db" } }, []],
    ["and so does a flag", { flags: { url: "memory:" }, env: { DATABASE_URL: "postgres://h/db" } }, []],
  ])("which stores are not used: %s", (_name, sources, wanted) => {
    expect(unusedStores(readSetting("url", sources).source, sources.env)).toEqual(wanted);
  });

  test.each<[string, string, Record<string, string>, string]>([
    ["both are added", "redis://h:1", { REDIS_PASSWORD: "p@ss/1", REDIS_DB: "2" }, "redis://:p%40ss%2F1@h:1/2"],
    ["a password of its own stays", "redis://ann:own@h", { REDIS_PASSWORD: "other" }, "redis://ann:own@h"],
    ["a user without a password is given it", "redis://ann@h", { REDIS_PASSWORD: "p" }, "redis://ann:p@h"],
    ["a database of its own stays", "redis://h/3?prefix=x", { REDIS_DB: "2" }, "redis://h/3?prefix=x"],
    ["a master of Sentinels keeps its name", "redis+sentinel://a,b/main", { REDIS_DB: "2" }, "redis+sentinel://a,b/main"],
    ["parameters stay behind it", "rediss://h?prefix=x", { REDIS_DB: "2" }, "rediss://h/2?prefix=x"],
    ["database 0 is what is meant anyway", "redis://a:1,b:2/?cluster=true", { REDIS_DB: "0" }, "redis://a:1,b:2/?cluster=true"],
    ["another store has neither", "sqlite:a.db", { REDIS_PASSWORD: "p", REDIS_DB: "2" }, "sqlite:a.db"],
  ])("REDIS_PASSWORD and REDIS_DB: %s", (_name, url, env, wanted) => {
    expect(readSetting("url", { env: { MILLRACE_URL: url, ...env } }).value).toBe(wanted);
  });
});

describe("a value", () => {
  test.each<[Record<string, string>, string, unknown]>([
    [{ PORT: "0" }, "port", 0],
    [{ API_ADDR: ":9090" }, "port", 9090],
    [{ API_ADDR: ":9090" }, "host", "127.0.0.1"],
    [{ API_ADDR: "0.0.0.0:9090" }, "host", "0.0.0.0"],
    [{ API_ADDR: "[::]:9090" }, "host", "::"],
    [{ API_ADDR: "0.0.0.0:9090", HOST: "10.0.0.1" }, "host", "10.0.0.1"],
    [{ NUM_WORKERS: "5" }, "workerConcurrency", 5],
    [{ WORKER_CONCURRENCY: "2-50", NUM_WORKERS: "5" }, "workerConcurrency", { min: 2, max: 50 }],
    [{ LEASE: "5m" }, "lease", 300_000],
    [{ LOCK_TTL: "5m" }, "lease", 300_000],
    [{ LEASE: "6m", LOCK_TTL: "5m" }, "lease", 360_000],
    [{ JOB_TIMEOUT: "90000" }, "jobDefaultTimeout", 90_000],
    [{ JOB_DEFAULT_RETRY_DELAY: "10s" }, "jobDefaultRetryDelay", 10_000],
    [{ JOB_DEFAULT_MAX_RETRIES: "0" }, "jobDefaultMaxRetries", 0],
    [{ QUEUE_CAPACITY: "100" }, "queueCapacity", 100],
    [{ RATE_LIMIT: "1000/m" }, "rateLimit", { requests: 1000, perMs: 60_000 }],
    [{ API_KEY: "a, ops:read+admin:b" }, "apiKey", ["a", "ops:read+admin:b"]],
    [{ WEBHOOK_ALLOW: "10.0.0.0/8,fd00::/8" }, "webhookAllow", ["10.0.0.0/8", "fd00::/8"]],
    [{ DASHBOARD_ENABLED: "FALSE" }, "dashboardEnabled", false],
    [{ DASHBOARD_ENABLED: "1" }, "dashboardEnabled", true],
    [{ ENVIRONMENT: "development" }, "environment", "development"],
  ])("%o: %s", (env, name, wanted) => {
    expect(readSetting(name as "port", { env }).value).toEqual(wanted);
  });

  test.each<[Record<string, string>, string]>([
    [{ PORT: "70000" }, 'PORT must be a whole number from 0 to 65535; got "70000"'],
    [{ PORT: "8080.5" }, 'PORT must be a whole number from 0 to 65535; got "8080.5"'],
    [{ API_ADDR: "localhost" }, 'API_ADDR must be a port or an address with one, such as :8080 or 0.0.0.0:8080; got "localhost"'],
    [{ WORKER_CONCURRENCY: "50-2" }, 'WORKER_CONCURRENCY must be a whole number from 1 to 10000, or a range such as 2-50; got "50-2"'],
    [{ LEASE: "10ms" }, 'LEASE must be a time from 1s to 1h, in milliseconds or as "30s", "5m"; got "10ms"'],
    [{ LOCK_TTL: "10ms" }, 'LOCK_TTL must be a time from 1s to 1h, in milliseconds or as "30s", "5m"; got "10ms"'],
    [{ RATE_LIMIT: "10" }, 'RATE_LIMIT must be a number of requests per second, minute or hour, such as 100/s, 1000/m or 5000/h; got "10"'],
    [{ DASHBOARD_ENABLED: "maybe" }, 'DASHBOARD_ENABLED must be true or false; got "maybe"'],
    [{ ENVIRONMENT: "staging" }, 'ENVIRONMENT must be development or production; got "staging"'],
    [
      { MILLRACE_URL: "mysql://ann:s3cret@h" },
      'MILLRACE_URL must be the URL of a store (sqlite:path.db, postgres://…, redis://…, rediss://…, redis+sentinel://…, memory:) or of a Millrace server (http://…, https://…); got "mysql://ann:***@h"',
    ],
    // What is wrong with a secret may be most of it.
    [{ API_KEY: "s3cret ," }, "API_KEY must be a comma-separated list of keys, each a secret or name:scope+scope:secret"],
  ])("%o is refused in one line", (env, line) => {
    expect(() => readConfig({ env }, SETTING_NAMES)).toThrow(expect.objectContaining({ code: "invalid_input", message: line }));
  });

  test("that a command has no use for cannot stop it", () => {
    expect(readConfig({ env: { PORT: "wrong" } }, ["url", "poolSize"]).config).toEqual({ url: "sqlite:millrace.db", poolSize: 10 });
  });

  test.for(SETTING_NAMES)("%s: its default, as it is shown, is read as the default", (name) => {
    const { kind, fallback } = SETTINGS[name] as Setting<unknown, unknown>;
    const shown = kind.show(fallback);
    if (shown !== "") expect(kind.read(shown)).toEqual(fallback);
    else expect(fallback === null || (Array.isArray(fallback) && fallback.length === 0)).toBe(true);
  });

  test("is shown as it may be shown", () => {
    const env = {
      API_KEY: "s3cret",
      DASHBOARD_PASSWORD: "s3cret",
      WEBHOOK_SECRET: "s3cret",
      REDIS_PASSWORD: "s3cret",
      MILLRACE_URL: "redis://h",
      LEASE: "90000",
    };
    const shown = SETTING_NAMES.map((name) => showValue(name, readSetting(name, { env }).value));
    expect(shown.join(" ")).not.toContain("s3cret");
    expect(shown).toContain("redis://:***@h");
    expect(shown).toContain("90s");
  });
});

describe("every setting", () => {
  const rows = SETTING_NAMES.map((name) => SETTINGS[name] as Setting<unknown, unknown>);

  test("has names that no other has", () => {
    const flags = rows.flatMap(({ flag }) => flag ?? []);
    expect(new Set(flags).size).toBe(flags.length);
    const names = rows.map(({ env }) => env);
    expect(new Set(names).size).toBe(names.length);
  });

  test("has a flag if and only if it is no secret", () => {
    expect(rows.filter(({ flag, secret }) => (flag === undefined) !== (secret === true)).map(({ env }) => env)).toEqual([]);
  });
});

test("settings become options of a client and of a worker, each by its own row", () => {
  const env = {
    JOB_TIMEOUT: "7s",
    JOB_DEFAULT_MAX_RETRIES: "2",
    JOB_DEFAULT_RETRY_DELAY: "3s",
    WORKER_CONCURRENCY: "2-50",
    LEASE: "9s",
  };
  const { config } = readConfig({ env }, SETTING_NAMES);
  expect(clientOptions(config)).toEqual({
    poolSize: 10,
    defaults: { timeout: 7000, maxRetries: 2, retryDelay: 3000 },
    strictTypes: false,
    webhookAllow: [],
    metricsRetentionDays: 30,
  });
  expect(clientOptions({ ...config, queueCapacity: 5 }).queueCapacity).toBe(5);
  expect(workOptions(config)).toEqual({ ahead: 20, concurrency: { min: 2, max: 50 }, grace: 30_000, settle: 5000, lease: 9000 });
});

function file(content: unknown): ConfigSources["file"] {
  return { name: "millrace.config.ts", content };
}

describe("a configuration file", () => {
  function folderWith(files: Readonly<Record<string, string>>, mode = 0o600): string {
    const folder = mkdtempSync(join(tmpdir(), "millrace-config-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text);
      chmodSync(join(folder, name), mode);
    }
    return folder;
  }

  test.each([
    ["millrace.config.ts", `export default { port: 1 as number, workerConcurrency: { min: 1, max: 2 } };`],
    ["millrace.config.js", `export default { port: 1, workerConcurrency: { min: 1, max: 2 } };`],
    ["millrace.config.mjs", `export default { port: 1, workerConcurrency: "1-2" };`],
    ["millrace.config.json", `{ "port": "1", "workerConcurrency": { "min": 1, "max": 2 } }`],
  ])("%s is found", async (name, text) => {
    const found = await loadConfigFile(folderWith({ [name]: text, "package.json": `{"type":"module"}` }));
    const { config, sources } = readConfig({ file: found.file }, ["port", "workerConcurrency"]);
    expect(config).toEqual({ port: 1, workerConcurrency: { min: 1, max: 2 } });
    expect(sources.port).toEqual({ from: "file", name });
  });

  test("is not needed", async () => {
    expect(await loadConfigFile(folderWith({}))).toEqual({ file: null, warnings: [] });
  });

  test("can be named", async () => {
    const found = await loadConfigFile(folderWith({ "ours.json": `{"port":1}` }), "ours.json");
    expect(readSetting("port", { file: found.file })).toEqual({ value: 1, source: { from: "file", name: "ours.json" } });
  });

  test("values may be left undefined or null", () => {
    expect(readSetting("port", { file: file({ port: undefined, rateLimit: null } satisfies Record<string, unknown>) }).value).toBe(8080);
  });

  test("the type of a file knows the names and values", () => {
    const typed = { url: "memory:", port: 1, lease: "5s", apiKey: ["a"], dashboardEnabled: false, logLevel: "warn" } satisfies ConfigFile;
    expect(readConfig({ file: file(typed) }, ["apiKey", "lease"]).config).toEqual({ apiKey: ["a"], lease: 5000 });
  });

  test("a former name in a file counts where the present one says nothing", () => {
    const former = { lockTtl: "5s" } satisfies ConfigFile;
    expect(readSetting("lease", { file: file(former) }).value).toBe(5000);
    expect(readSetting("lease", { file: file({ ...former, lease: "6s" } satisfies ConfigFile) }).value).toBe(6000);
    expect(() => readSetting("lease", { file: file({ lockTtl: "soon" }) })).toThrow(/^lockTtl in millrace\.config\.ts must be a time/);
  });

  test.each<[string, () => Promise<unknown>, RegExp]>([
    [
      "that is not there",
      () => loadConfigFile(folderWith({}), "gone.json"),
      /^the configuration file gone\.json cannot be used: there is no such file$/,
    ],
    [
      "that is one of two",
      () => loadConfigFile(folderWith({ "millrace.config.js": "", "millrace.config.json": "{}" })),
      /keep only one of them/,
    ],
    [
      "that is broken",
      () => loadConfigFile(folderWith({ "millrace.config.json": "{" })),
      /^the configuration file millrace\.config\.json cannot be used: /,
    ],
    ["that throws", () => loadConfigFile(folderWith({ "millrace.config.mjs": "throw new Error('no luck')" })), /cannot be used: no luck$/],
    [
      "without settings",
      async () => readSetting("port", { file: file(42) }),
      /^the default export of millrace\.config\.ts must be an object with settings; got 42$/,
    ],
    [
      "with a name that is none",
      async () => readSetting("port", { file: file({ prot: 1 }) }),
      /^prot in millrace\.config\.ts is not a setting; did you mean port\? \(known settings: url, /,
    ],
    [
      "with a wrong value",
      async () => readSetting("port", { file: file({ port: -1 }) }),
      /^port in millrace\.config\.ts must be a whole number from 0 to 65535; got -1$/,
    ],
  ])("one %s is refused", async (_name, load, message) => {
    await expect(load()).rejects.toThrow(
      expect.objectContaining({ code: "invalid_input", message: expect.stringMatching(message) as string }),
    );
  });

  test("that others can read and that holds a secret is warned of", async () => {
    const text = `{"apiKey":"a","port":1}`;
    expect((await loadConfigFile(folderWith({ "millrace.config.json": text }, 0o644))).warnings).toEqual([
      "millrace.config.json contains apiKey, and other users of this machine can read it. Run: chmod 600 millrace.config.json",
    ]);
    expect((await loadConfigFile(folderWith({ "millrace.config.json": text }, 0o600))).warnings).toEqual([]);
    expect((await loadConfigFile(folderWith({ "millrace.config.json": `{"port":1}` }, 0o644))).warnings).toEqual([]);
  });
});

test.each([
  ["WORKER_CONCURENCY", "WORKER_CONCURRENCY"],
  ["MILLRACE_API_KEY", "API_KEY"],
  ["MILLRACE_PORT", "PORT"],
  ["PIP_DEFAULT_TIMEOUT", null],
  ["MILLRACE_URL", null],
])("a variable that is almost a setting is seen, one of another program is not: %s", (name, meant) => {
  expect(misspelled({ [name]: "1" })).toEqual(meant === null ? [] : [{ name, meant }]);
});
