import { rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { redisPlace } from "./places/redis-place.ts";
import { torture } from "./run.ts";

test("a store that forgets what it has answered is found out, and the histories that show it are kept", { timeout: 300_000 }, async () => {
  const openPlace = async (): ReturnType<typeof redisPlace> => {
    const place = await redisPlace(null);
    return { ...place, deeds: place.deeds.filter(({ what }) => what === "store killed") };
  };
  const { complaints, folder } = await torture({ engine: "redis", seed: 1, chaosMs: 0, isShort: true, openPlace });
  onTestFinished(() => rmSync(folder!, { recursive: true }));
  expect(complaints).toContainEqual(expect.stringMatching(/^I1 .*was accepted, and is neither there nor rightly removed/));
});
