import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { admin, freshPrefix, type OwnRedisServer, startRedis } from "../../../servers/redis.ts";
import { workIn } from "../work-in.ts";
import { jobOf } from "./open.ts";

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
