/** A store that is not there when a process starts. The deadlines are far longer than a test may take: what ends here does not wait for them. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect, type Trouble } from "../../src/connect.ts";
import { openStore } from "../../src/store/open-store.ts";
import { runCli } from "../e2e/run-cli.ts";
import { temporaryFolder } from "../e2e/run-program.ts";
import { freePort } from "../servers/free-port.ts";

const HOUR_MS = 3_600_000;
const ENGINES = [
  ["PostgreSQL", (port: number) => `postgres://127.0.0.1:${port}/app`],
  ["Redis", (port: number) => `redis://127.0.0.1:${port}`],
] as const;

/** Takes connections and says nothing. */
async function silentPort(): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe.each(ENGINES)("%s", (name, urlOf) => {
  test("that refuses connections ends an impatient opening long before its deadline, and is named with its address", async () => {
    const port = await freePort();
    await expect(openStore(urlOf(port), { deadlineMs: HOUR_MS, impatient: true })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(
        new RegExp(
          `^cannot reach ${name} at 127\\.0\\.0\\.1:${port}.*: connection refused \\(tried for 1 s\\)\\. Check that it is running`,
        ),
      ) as string,
    });
  });

  test("that is silent ends an opening at its deadline", async () => {
    const port = await silentPort();
    await expect(openStore(urlOf(port), { deadlineMs: 300, impatient: true })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(new RegExp(`^${name} at 127\\.0\\.0\\.1:${port}.* did not answer .*within 300ms`)) as string,
    });
  });

  test.each([
    ["refuses connections", freePort, "connection refused"],
    ["is silent", silentPort, "no answer"],
  ])("that %s is told while connect waits for it", async (_, openPort, why) => {
    const port = await openPort();
    const troubles: Trouble[] = [];
    const opening = connect(urlOf(port), { deadline: "2s", onTrouble: (trouble) => troubles.push(trouble) });
    await expect(opening).rejects.toMatchObject({ code: "store_unavailable" });
    expect(troubles).toMatchObject([{ kind: "store" }]);
    expect(troubles[0]!.message).toMatch(
      new RegExp(`^cannot reach ${name} at 127\\.0\\.0\\.1:${port}.* yet: ${why}\\. Trying for another 1 s$`),
    );
  });

  test.each([["server"], ["worker", "--handlers", "./jobs.mjs"], ["list"]])(
    "that refuses connections ends millrace %s with one line",
    async (...args) => {
      const cwd = temporaryFolder();
      writeFileSync(`${cwd}/jobs.mjs`, "export default { t() {} };");
      const port = await freePort();
      const { code, stderr } = await runCli([...args, "--url", urlOf(port)], { cwd, env: { PORT: "0" } });
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`^millrace: cannot reach ${name} at 127\\.0\\.0\\.1:${port}.* \\(tried for 1 s\\)\\. .*\\n$`));
    },
  );
});
