/** The page's files: found under any mount, sent as small as can be, and nothing else of the machine with them. */
import { rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { ServerOptions } from "../../../src/http/server.ts";
import { type Api, openApi, type Way, WAYS } from "./open-api.ts";
import { builtPage, HTML, SCRIPT } from "./built-page.ts";

function openPage(way: Way = "port", options: ServerOptions = {}): Promise<Api> {
  return openApi({ ...options, dashboard: { folder: builtPage(), ...options.dashboard } }, way);
}

describe.for(WAYS)("by %s", (way) => {
  test.for([
    ["/dashboard/", "./"],
    ["/dashboard/jobs", "./"],
    ["/dashboard/audit", "./"],
    ["/dashboard/jobs/", "../"],
    ["/dashboard/jobs/0199c7a2-5f7c-7cc3-98b2-0d2a3c1f5e11", "../"],
    ["/dashboard/jobs?status=dead", "./"],
  ])("%s is the page, and says the way back: %s", async ([address, wayBack]) => {
    const { send } = await openPage(way);
    const response = await send(address!);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(HTML.replace("./", wayBack!));
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect(response.headers.get("referrer-policy")).toBe("same-origin");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
  });

  test("without its slash it is the same page: a redirect to the slash would never end under Next.js, which redirects back", async () => {
    const { send } = await openPage(way, { basePath: "/admin/queue" });
    const response = await send("/admin/queue/dashboard", { redirect: "manual" });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(HTML.replace("./", "dashboard/"));
    expect((await send("/admin/queue/dashboard/")).status).toBe(200);
    expect((await send("/admin/queue/dashboard/assets/main-abc.js")).status).toBe(200);
    expect((await send("/dashboard/")).status).toBe(404);
  });

  test("a file that is named for what is in it is kept for ever, all others are asked for", async () => {
    const { send } = await openPage(way);
    const asset = await send("/dashboard/assets/main-abc.js");
    expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(asset.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(await asset.text()).toBe(SCRIPT);
    expect((await send("/dashboard/theme.js")).headers.get("cache-control")).toBe("no-cache");
  });

  test("who has it already gets 304", async () => {
    const { send } = await openPage(way);
    for (const address of ["/dashboard/", "/dashboard/theme.js", "/dashboard/assets/main-abc.js"]) {
      const etag = (await send(address)).headers.get("etag")!;
      const again = await send(address, { headers: { "If-None-Match": `"other", W/${etag}` } });
      expect(again.status).toBe(304);
      expect(await again.text()).toBe("");
      expect((await send(address, { headers: { "If-None-Match": '"other"' } })).status).toBe(200);
    }
  });

  test("HEAD says what GET would, without it", async () => {
    const { send } = await openPage(way);
    const [head, get] = [await send("/dashboard/theme.js", { method: "HEAD" }), await send("/dashboard/theme.js")];
    expect(head.status).toBe(200);
    for (const name of ["content-type", "etag", "cache-control"]) expect(head.headers.get(name)).toBe(get.headers.get(name));
    expect(await head.text()).toBe("");
  });

  test("W25: it takes no other method", async () => {
    const { send } = await openPage(way);
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      const response = await send("/dashboard/jobs", { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("GET, HEAD");
    }
  });

  test("an address that leads nowhere is the page to a person, and a problem to a program", async () => {
    const { send } = await openPage(way);
    const person = await send("/dashboard/nothing", { headers: { Accept: "text/html,*/*" } });
    expect([person.status, await person.text()]).toEqual([404, HTML]);
    const program = await send("/dashboard/assets/gone-123.js");
    expect(program.status).toBe(404);
    expect(program.headers.get("content-type")).toBe("application/problem+json");
  });

  test("a server without a dashboard has none of it", async () => {
    const { send } = await openApi({}, way);
    for (const address of ["/dashboard", "/dashboard/", "/dashboard/jobs", "/dashboard/session"])
      expect((await send(address)).status).toBe(404);
  });

  test("a page that was not built says so, and is there once it is", async () => {
    const folder = builtPage();
    rmSync(join(folder, "index.html"));
    const { send } = await openApi({ dashboard: { folder } }, way);
    const missing = await send("/dashboard/");
    expect(missing.status).toBe(404);
    expect(await missing.text()).toContain("the dashboard is not built");
    writeFileSync(join(folder, "index.html"), HTML);
    expect((await send("/dashboard/")).status).toBe(200);
  });
});

test.for([
  ["br", brotliDecompressSync, "gzip, deflate, br, zstd"],
  ["gzip", gunzipSync, "gzip, deflate, br;q=0"],
] as const)("it is sent as %s to whom can read it", async ([encoding, unpack, accepted]) => {
  const { url } = await openPage();
  const { headers, body } = await raw(url, "/dashboard/assets/main-abc.js", { "accept-encoding": accepted });
  expect(headers["content-encoding"]).toBe(encoding);
  expect(headers["vary"]).toBe("Accept-Encoding");
  expect(headers["content-length"]).toBe(String(body.byteLength));
  expect(body.byteLength).toBeLessThan(SCRIPT.length / 10);
  expect(unpack(body).toString()).toBe(SCRIPT);
});

test("it is sent as it is to all others", async () => {
  const { url } = await openPage();
  const { headers, body } = await raw(url, "/dashboard/assets/main-abc.js", {});
  expect(headers["content-encoding"]).toBeUndefined();
  expect(body.toString()).toBe(SCRIPT);
});

test.for([
  "/dashboard/../secret.txt",
  "/dashboard/..%2fsecret.txt",
  "/dashboard/%2e%2e/secret.txt",
  "/dashboard/%252e%252e%252fsecret.txt",
  "/dashboard/..\\secret.txt",
  "/dashboard/assets/../../secret.txt",
  "/dashboard/assets/..%5c..%5csecret.txt",
  "/dashboard//etc/passwd",
  "/dashboard/assets/%00/../theme.js",
  "/dashboard/assets/main-abc.js%00.html",
  "/dashboard/assets/way-out.txt",
  "/dashboard/assets/main-abc.js.gz",
  "/dashboard/assets/",
  `/dashboard/${"x/".repeat(50)}`,
])("W24: %s leads to no file", async (address) => {
  const { url } = await openPage();
  const { status, body } = await raw(url, address, {});
  expect([400, 404]).toContain(status);
  expect(body.toString()).not.toMatch(/not for you|root:/);
});

test("W27: a name that is not this machine's is not answered with the page", async () => {
  const { url } = await openPage();
  expect((await raw(url, "/dashboard/", { host: "evil.test" })).status).toBe(421);
});

/** Asks without anything in between that tidies addresses, unpacks bodies or adds headers. */
async function raw(url: string, address: string, headers: Record<string, string>) {
  const { hostname, port } = new URL(url);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ hostname, port, path: address, headers: { host: `127.0.0.1:${port}`, ...headers } }, resolve)
      .on("error", reject)
      .end();
  });
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(await response.toArray()) };
}
