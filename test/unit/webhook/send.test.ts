import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { Blocked, Guard } from "../../../src/webhook/guard.ts";
import { send, type SendLimits, TimedOut, Unreachable } from "../../../src/webhook/send.ts";
import { CERTIFICATE } from "./certificate.ts";
import { bodyOf, serve, serveRaw, serveTls, writeForEver } from "./loopback-server.ts";

const LIMITS: SendLimits = { connectMs: 5000, totalMs: 10_000, maxBytes: 1000 };
/** For those who would keep us waiting. */
const SHORT: SendLimits = { ...LIMITS, connectMs: 200, totalMs: 300 };
const { signal } = new AbortController();

/** Looks every name up as the next of these addresses, and counts. */
function namesAt(...addresses: string[]) {
  let asked = 0;
  const resolve = async () => [{ address: addresses[Math.min(asked++, addresses.length - 1)]!, family: 4 }];
  return { resolve, asked: () => asked };
}

function senderTo(address = "127.0.0.1") {
  return { guard: new Guard({ allow: ["127.0.0.0/8"], resolve: namesAt(address).resolve }) };
}

function get(url: string) {
  return { url, method: "GET", headers: {}, body: null };
}

describe("a request", () => {
  test("arrives as it was meant, and its answer comes back", async () => {
    const seen: unknown[] = [];
    const server = await serve((request, response) => {
      void bodyOf(request).then((body) => {
        seen.push([request.method, request.url, request.headers["x-test"], request.headers.host, body]);
        response.writeHead(201, { "x-said": "yes" }).end("hello");
      });
    });
    const request = { url: `http://hooks.test:${server.port}/a?b=c#d`, method: "PUT", headers: { "x-test": "1" }, body: Buffer.from("ü") };
    const answer = await send(senderTo(), request, LIMITS, signal);
    expect(seen).toEqual([["PUT", "/a?b=c", "1", `hooks.test:${server.port}`, "ü"]]);
    expect(answer).toMatchObject({ status: 201, headers: { "x-said": "yes" }, cut: null, host: `hooks.test:${server.port}` });
    expect(answer.body.toString()).toBe("hello");
    await server.allClosed();
  });

  test("goes over TLS to a host whose certificate is right", async () => {
    const server = await serveTls((_, response) => response.end("safe"));
    const answer = await send({ ...senderTo(), ca: CERTIFICATE }, get(`https://hooks.test:${server.port}/`), LIMITS, signal);
    expect(answer.body.toString()).toBe("safe");
  });

  test.each([
    ["nobody vouches for the certificate", "hooks.test", undefined, /self-signed certificate/],
    ["the certificate is another's", "other.test", CERTIFICATE, /does not match certificate's altnames/],
  ])("is not sent when %s", async (_, host, ca, why) => {
    let heard = false;
    const server = await serveTls((_, response) => {
      heard = true;
      response.end();
    });
    const sending = send({ ...senderTo(), ca }, get(`https://${host}:${server.port}/`), LIMITS, signal);
    await expect(sending).rejects.toThrow(why);
    await expect(sending).rejects.toBeInstanceOf(Unreachable);
    await server.allClosed();
    expect(heard).toBe(false);
  });

  test("says which host nobody listens at", async () => {
    const server = await serve((_, response) => response.end());
    const url = `http://hooks.test:${server.port}/`;
    const gone = { guard: new Guard({ allow: ["127.0.0.2"], resolve: namesAt("127.0.0.2").resolve }) };
    await expect(send(gone, get(url), LIMITS, signal)).rejects.toThrow(
      `the request to hooks.test:${server.port} failed: connect ECONNREFUSED`,
    );
  });

  test("says which host has no address", async () => {
    const resolve = async () => {
      throw Object.assign(new Error("getaddrinfo ENOTFOUND hooks.test"), { code: "ENOTFOUND" });
    };
    const sending = send({ guard: new Guard({ resolve }) }, get("http://hooks.test/"), LIMITS, signal);
    await expect(sending).rejects.toThrow("the request to hooks.test failed: getaddrinfo ENOTFOUND hooks.test");
  });

  test("is sent to the next address when the first does not listen", async () => {
    const server = await serve((_, response) => response.end("second"));
    const resolve = async () => [
      { address: "127.0.0.2", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    const guard = new Guard({ allow: ["127.0.0.0/8"], resolve });
    const answer = await send({ guard }, get(`http://hooks.test:${server.port}/`), LIMITS, signal);
    expect(answer.body.toString()).toBe("second");
  });
});

describe("W14: against forgery", () => {
  test("the connection goes to the address that was checked, although the name has another one by now", async () => {
    const open = await serve((_, response) => response.end("open"));
    const names = namesAt("127.0.0.1", "127.0.0.2");
    const guard = new Guard({ allow: ["127.0.0.1"], resolve: names.resolve });
    const request = get(`http://rebinding.test:${open.port}/`);
    expect((await send({ guard }, request, LIMITS, signal)).body.toString()).toBe("open");
    expect(names.asked()).toBe(1);
    // And the next attempt is checked anew.
    await expect(send({ guard }, request, LIMITS, signal)).rejects.toThrow(Blocked);
    expect(open.connections()).toBe(1);
  });

  test("no packet goes to a name that has a closed address beside an open one", async () => {
    const server = await serve((_, response) => response.end());
    const resolve = async () => [
      { address: "8.8.8.8", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    const sending = send({ guard: new Guard({ resolve }) }, get(`http://hooks.test:${server.port}/`), LIMITS, signal);
    await expect(sending).rejects.toThrow(Blocked);
    expect(server.connections()).toBe(0);
  });

  test.each(["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0", "[::ffff:127.0.0.1]", "localhost", "localhost."])(
    "no packet goes to %s",
    async (host) => {
      const server = await serve((_, response) => response.end());
      await expect(send({ guard: new Guard() }, get(`http://${host}:${server.port}/`), LIMITS, signal)).rejects.toThrow(Blocked);
      expect(server.connections()).toBe(0);
    },
  );

  test("a redirect is an answer, and is not followed", async () => {
    const inner = await serve((_, response) => response.end("secret"));
    const server = await serve((_, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/latest/meta-data/`, "set-cookie": "a=b" }).end();
    });
    const answer = await send(senderTo(), get(`http://hooks.test:${server.port}/`), LIMITS, signal);
    expect(answer.status).toBe(302);
    expect(inner.connections()).toBe(0);
  });

  test("no cookie is kept", async () => {
    const cookies: unknown[] = [];
    const server = await serve((request, response) => {
      cookies.push(request.headers.cookie);
      response.writeHead(200, { "set-cookie": "a=b" }).end();
    });
    for (let time = 0; time < 2; time++) await send(senderTo(), get(`http://hooks.test:${server.port}/`), LIMITS, signal);
    expect(cookies).toEqual([undefined, undefined]);
  });

  test("neither a proxy nor a switch of the environment changes where and how it goes", async () => {
    const proxy = await serve((_, response) => response.end("proxy"));
    const plain = await serve((_, response) => response.end("direct"));
    const secure = await serveTls((_, response) => response.end("unverified"));
    const program = `
      const { send } = await import(${JSON.stringify(new URL("../../../src/webhook/send.ts", import.meta.url).href)});
      const { Guard } = await import(${JSON.stringify(new URL("../../../src/webhook/guard.ts", import.meta.url).href)});
      const guard = new Guard({ allow: ["127.0.0.1"], resolve: async () => [{ address: "127.0.0.1", family: 4 }] });
      const { signal } = new AbortController();
      const get = async (url) => {
        const limits = { connectMs: 5000, totalMs: 10_000, maxBytes: 1000 };
        return send({ guard }, { url, method: "GET", headers: {}, body: null }, limits, signal).then((a) => a.body.toString(), (e) => e.name);
      };
      console.log(await get("http://hooks.test:${plain.port}/"), await get("https://hooks.test:${secure.port}/"));
    `;
    const env = {
      ...process.env,
      NODE_USE_ENV_PROXY: "1",
      HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
      HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
    };
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { env });
    expect(stdout.trim()).toBe("direct Unreachable");
    expect(proxy.connections()).toBe(0);
  });
});

describe("W15: a hostile server", () => {
  test("that never answers is left", async () => {
    const server = await serveRaw(() => {});
    const sending = send(senderTo(), get(`http://hooks.test:${server.port}/`), SHORT, signal);
    await expect(sending).rejects.toThrow(TimedOut);
    await expect(sending).rejects.toThrow(`hooks.test:${server.port} did not answer within 0.3 s`);
    await server.allClosed();
  });

  test("that never shakes hands is left", async () => {
    const server = await serveRaw(() => {});
    await expect(send(senderTo(), get(`https://hooks.test:${server.port}/`), SHORT, signal)).rejects.toThrow(
      /could not be reached within 0.2 s/,
    );
    await server.allClosed();
  });

  test("whose name never resolves is left", async () => {
    const guard = new Guard({ resolve: () => new Promise(() => {}) });
    await expect(send({ guard }, get("http://hooks.test/"), SHORT, signal)).rejects.toThrow("hooks.test could not be reached within 0.2 s");
  });

  test("with an endless body is cut off", async () => {
    const server = await serve((_, response) => {
      response.writeHead(200);
      writeForEver(response, "x".repeat(700));
    });
    const answer = await send(senderTo(), get(`http://hooks.test:${server.port}/`), LIMITS, signal);
    expect(answer).toMatchObject({ status: 200, cut: "size" });
    expect(answer.body).toHaveLength(1000);
    await server.allClosed();
  });

  test("that lets its body drip is cut off", async () => {
    const server = await serve((_, response) => {
      response.writeHead(200);
      writeForEver(response, "x", 20);
    });
    const answer = await send(senderTo(), get(`http://hooks.test:${server.port}/`), SHORT, signal);
    expect(answer).toMatchObject({ status: 200, cut: "time" });
    await server.allClosed();
  });

  test("that lets its headers drip is left", async () => {
    const server = await serveRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      writeForEver(socket, "x-a: b\r\n", 20);
    });
    await expect(send(senderTo(), get(`http://hooks.test:${server.port}/`), SHORT, signal)).rejects.toThrow(TimedOut);
    await server.allClosed();
  });

  test("with huge headers is refused", async () => {
    const server = await serveRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      writeForEver(socket, `x-a: ${"b".repeat(10_000)}\r\n`);
    });
    await expect(send(senderTo(), get(`http://hooks.test:${server.port}/`), LIMITS, signal)).rejects.toThrow(
      /the request to .* failed: .*Header/i,
    );
    await server.allClosed();
  });

  test("that says 'wait' for ever is left", async () => {
    const server = await serveRaw((socket) => writeForEver(socket, "HTTP/1.1 103 Early Hints\r\n\r\n", 1));
    await expect(send(senderTo(), get(`http://hooks.test:${server.port}/`), SHORT, signal)).rejects.toThrow(TimedOut);
    await server.allClosed();
  });

  test.each([
    ["speaks no HTTP", "+OK redis\r\n"],
    ["changes to another protocol", "HTTP/1.1 101 Switching Protocols\r\nupgrade: evil\r\nconnection: upgrade\r\n\r\nhello"],
    ["hangs up", ""],
  ])("that %s is refused", async (_, words) => {
    const server = await serveRaw((socket) => socket.end(words));
    await expect(send(senderTo(), get(`http://hooks.test:${server.port}/`), LIMITS, signal)).rejects.toThrow(Unreachable);
    await server.allClosed();
  });

  test("that breaks off in the middle is told by its status and what arrived", async () => {
    const server = await serveRaw((socket) => {
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this");
    });
    const answer = await send(senderTo(), get(`http://hooks.test:${server.port}/`), LIMITS, signal);
    expect(answer).toMatchObject({ status: 200, cut: "broken" });
    expect(answer.body.toString()).toBe("only this");
  });
});

describe("an abort by the caller", () => {
  test("before the request sends nothing", async () => {
    const server = await serve((_, response) => response.end());
    const reason = new Error("shutdown");
    await expect(send(senderTo(), get(`http://hooks.test:${server.port}/`), LIMITS, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(server.connections()).toBe(0);
  });

  test.each(["head", "body"])("while the %s is awaited ends the connection, and its reason is thrown", async (part) => {
    const caller = new AbortController();
    const reason = new Error("timeout of the job");
    const server = await serve((_, response) => {
      if (part === "body") response.writeHead(200).write("some");
      void once(response, "close"); // it never ends by itself
      setImmediate(() => caller.abort(reason));
    });
    await expect(send(senderTo(), get(`http://hooks.test:${server.port}/`), LIMITS, caller.signal)).rejects.toBe(reason);
    await server.allClosed();
  });
});
