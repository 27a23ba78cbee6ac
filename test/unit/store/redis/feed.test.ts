import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { openIoredis } from "../../../../src/store/redis/ioredis-driver.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { parseRedisUrl } from "../../../../src/store/redis/url.ts";
import { startUpkeep } from "../../../../src/upkeep/upkeep.ts";
import { admin, freshPrefix, type OwnRedisServer, startRedis } from "../../../servers/redis.ts";
import { TcpProxy } from "../../../servers/tcp-proxy.ts";
import { workIn } from "../work-in.ts";
import { claim, jobOf, openAt } from "./open.ts";

let server: OwnRedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

test("hints are heard again after the connection for them was cut, and everybody is told to look", async () => {
  const url = freshPrefix(server.url);
  const options = { clock: systemClock, deadlineMs: 5_000 };
  const [hearer, teller] = [await openRedisStore(url, options), await openRedisStore(url, options)];
  const first = workIn(hearer, "mail");
  await teller.insert([jobOf({ queue: "mail" })]);
  await first;
  const gap = new Promise<void>((resolve) => hearer.watch((hint) => hint.topic === "schedules" && resolve()));
  const cut = await admin(server.port, (redis) => redis.call("CLIENT", "KILL", "TYPE", "PUBSUB"));
  expect(cut).toBeGreaterThan(0);
  await gap;
  const second = workIn(hearer, "mail");
  await teller.insert([jobOf({ queue: "mail" })]);
  await second;
  await Promise.all([hearer.close(), teller.close()]);
});

test("a connection for hints that is closed while it subscribes again leaves no rejection that nobody handles", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const wire = await TcpProxy.to(server.port);
  onTestFinished(() => wire.close());
  const driver = await openIoredis(parseRedisUrl(`redis://127.0.0.1:${wire.port}`), 5_000);
  const subscription = driver.subscribe({ onMessage: () => {}, onGap: () => {} });
  await subscription.tried;
  subscription.add("news");
  const ask = (...command: [string, ...string[]]): Promise<unknown> => admin(server.port, (redis) => redis.call(...command));
  await vi.waitFor(async () => expect(await ask("PUBSUB", "NUMSUB", "news")).toEqual(["news", 1]));
  const stalled = wire.stallAt(/subscribe/);
  await ask("CLIENT", "KILL", "TYPE", "PUBSUB");
  await stalled;
  subscription.close();
  driver.close();
  wire.heal();
  await vi.waitFor(() => expect(wire.connections).toBe(0));
  await new Promise((next) => setImmediate(next));
  expect(unhandled).toEqual([]);
});

test("everybody is told to look only after the server has confirmed the new subscription", async () => {
  const wire = await TcpProxy.to(server.port);
  onTestFinished(() => wire.close());
  const ask = (...command: [string, ...string[]]): Promise<unknown> => admin(server.port, (redis) => redis.call(...command));
  const driver = await openIoredis(parseRedisUrl(`redis://127.0.0.1:${wire.port}`), 5_000);
  const gaps: Promise<unknown>[] = [];
  const subscription = driver.subscribe({ onMessage: () => {}, onGap: () => gaps.push(ask("PUBSUB", "NUMSUB", "gap")) });
  await subscription.tried;
  subscription.add("gap");
  await vi.waitFor(async () => expect(await ask("PUBSUB", "NUMSUB", "gap")).toEqual(["gap", 1]));
  const stalled = wire.stallAt(/subscribe/);
  await ask("CLIENT", "KILL", "TYPE", "PUBSUB");
  await stalled;
  expect(gaps).toEqual([]);
  wire.heal();
  await vi.waitFor(async () => expect(await Promise.all(gaps)).toContainEqual(["gap", 1]));
  subscription.close();
  driver.close();
});

test("a worker that hears of an insert claims behind it in the same round trip, and hears again if the insert was repeated", async () => {
  const store = await openAt(server.url);
  // From here on the server knows the scripts.
  await store.insert([jobOf()]);
  await store.insert([jobOf()]);
  await claim(store);
  const claims: ReturnType<typeof claim>[] = [];
  let isAnswered = false;
  const end = store.watch(() => claims.push(claim(store)));
  const job = jobOf();
  const inserted = store.insert([job]).then(() => void (isAnswered = true));
  // It was told before the insert was answered, so the claim is on its way.
  await vi.waitFor(() => expect(claims).toHaveLength(1));
  expect(isAnswered).toBe(false);
  expect((await claims[0])!.map(({ id }) => id)).toContain(job.id);
  await inserted;
  expect(claims).toHaveLength(1);
  end();

  let hints = 0;
  store.watch(() => hints++);
  // A restarted server does not know the script: the insert is sent again, and a claim may have come before it.
  await admin(server.port, (redis) => redis.call("SCRIPT", "FLUSH"));
  await store.insert([jobOf()]);
  expect(hints).toBe(2);
  await store.close();
});

test("jobs that are due tomorrow make no other process look, and hardly a message", async () => {
  const url = freshPrefix(server.url);
  const options = { clock: systemClock, deadlineMs: 5_000 };
  const [teller, ...others] = await Promise.all(Array.from({ length: 3 }, () => openRedisStore(url, options)));
  const looks = others.map((store) => {
    let count = 0;
    const promote = store.promote.bind(store);
    store.promote = (limit) => {
      count++;
      return promote(limit);
    };
    // Nobody looks without a hint: what is counted is what hints cost.
    const upkeep = startUpkeep(store, {
      clock: systemClock,
      random: Math.random,
      announce: { wanted: () => false, publish: () => {}, settled: () => {}, ended: () => {} },
      restsMs: { promote: 3_600_000 },
    });
    return { upkeep, count: () => count };
  });
  const told = async (): Promise<number> => {
    const info = await admin(server.port, (redis) => redis.info("commandstats"));
    return Number(/cmdstat_publish:calls=(\d+)/.exec(info)?.[1] ?? 0);
  };
  const before = await told();
  for (let count = 0; count < 100; count++) await teller!.insert([jobOf({ queue: `q${count % 50}`, delayMs: 86_400_000 })]);
  expect((await told()) - before).toBeLessThanOrEqual(2);
  const soon = jobOf({ queue: "mail", delayMs: 20 });
  await teller!.insert([soon]);
  await vi.waitFor(async () => expect((await teller!.find([soon.id]))[0]!.status).toBe("pending"), { timeout: 10_000 });
  // Once at the start, and for the last one; it may take two looks, because clocks are not read at the same time.
  for (const { count } of looks) expect(count()).toBeLessThanOrEqual(6);
  await Promise.all(looks.map(({ upkeep }) => upkeep.stop()));
  await Promise.all([teller, ...others].map((store) => store!.close()));
});
