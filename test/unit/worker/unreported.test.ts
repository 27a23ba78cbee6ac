import { expect, test } from "vitest";
import type { Trouble } from "../../../src/core/trouble.ts";
import { openClient } from "../client/open-client.ts";

test("a worker with too many outcomes that cannot be reported stops claiming, says so, and says when it goes on", async () => {
  const troubles: Trouble[] = [];
  const { client, store, clock } = await openClient({ onTrouble: (trouble) => troubles.push(trouble) });
  const exchange = store.exchange.bind(store);
  let isHeld = true;
  // Somebody's transactions hold the rows of all jobs that have started.
  store.exchange = async (settlements, claims) => {
    if (!isHeld) return exchange(settlements, claims);
    const { claimed } = await exchange([], claims);
    return { settled: settlements.map(() => "locked"), claimed };
  };
  const told = (): string[] => troubles.flatMap(({ message }) => (message.startsWith("a worker") ? [message] : []));
  let started = 0;
  const worker = client.work({ t: () => void started++ }, { concurrency: 10 });
  await client.enqueueMany(Array.from({ length: 150 }, () => ({ type: "t" })));
  await clock.advance("10s");
  expect([started < 120, worker.healthy]).toEqual([true, false]);
  expect(told()).toEqual([expect.stringMatching(/stopped claiming: 1\d\d outcomes could not be reported yet\..*ctx\.complete/)]);

  isHeld = false;
  await clock.advance("10s");
  expect([started, worker.healthy]).toEqual([150, true]);
  expect(told().slice(1)).toEqual([expect.stringMatching(/claims jobs again: \d+ outcomes are left to report/)]);
});
