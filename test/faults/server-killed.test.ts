/** The server is killed with SIGKILL in mid-load and started again on its data. What it had answered is there, as the durability table says. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LedgerLine } from "./ledger.ts";
import { Load } from "./load.ts";
import { FAULTS } from "./nemesis.ts";
import { ENGINES, type FaultyServer, startFaultyRedis } from "./servers.ts";
import { until } from "./until.ts";

/** Kills the server of a load so many times, after it has gone on for so long. Tells when, by the machine's time. */
async function killUnderLoad(server: FaultyServer, times: number, calmMs: number): Promise<{ load: Load; kills: readonly number[] }> {
  const { url } = server.store();
  const load = await Load.start({ url, witness: url });
  const kills: number[] = [];
  while (kills.length < times) {
    const since = Date.now();
    await load.goesOn(100);
    await until(() => load.lines.at(-1)!.at - since > calmMs);
    await server.kill();
    kills.push(Date.now());
    await server.restart();
  }
  await load.goesOn(100);
  return { load, kills };
}

describe.each(ENGINES)("$name that is killed again and again", ({ start }) => {
  let server: FaultyServer;
  beforeAll(async () => void (server = await start()));
  afterAll(() => server.stop());

  test("has lost nothing that it answered, and no caller is told of it: calls wait for its return", { timeout: 120_000 }, async () => {
    const { load } = await killUnderLoad(server, Math.ceil(FAULTS / 2), 300);
    await load.finish();
    expect(load.lines.filter(({ op }) => op === "unknown")).toEqual([]);
  });
});

/** What Redis may keep from its log with appendfsync everysec: it waits so long for a disk that is behind. */
const EVERYSEC_MS = 2_000;

describe("Redis that writes its log to disk once a second and is killed", () => {
  let server: FaultyServer;
  beforeAll(async () => void (server = await startFaultyRedis("everysec")));
  afterAll(() => server.stop());

  test("has lost nothing that is older than that", { timeout: 120_000 }, async () => {
    const { load, kills } = await killUnderLoad(server, Math.ceil(FAULTS / 5), EVERYSEC_MS + 500);
    // A job about which something was said shortly before a kill may be gone, or be where it was before. All others are held to all promises.
    const mayBeUndone = ({ at }: LedgerLine): boolean => kills.some((kill) => at <= kill && at > kill - EVERYSEC_MS);
    await load.finish({ mayBeUndone });
    const held = load.lines.filter((line) => line.op === "accepted" && line.at < kills[0]! && !mayBeUndone(line));
    expect(held.length).toBeGreaterThan(0);
  });
});
