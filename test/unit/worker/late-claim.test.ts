import { expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import type { Store } from "../../../src/store/store.ts";
import { openClient } from "../client/open-client.ts";

/**
 * The first claim reaches the store after its caller has given it up; the second, which asks for what the first was granted, comes before it
 * and is given a job, but that answer is lost too. The third is then given the jobs of both.
 */
function delayFirstClaim(store: Store): void {
  const exchange = store.exchange.bind(store);
  const away = new MillraceError("store_unavailable", "no answer");
  let first: Parameters<Store["exchange"]> | null = null;
  let claims = 0;
  store.exchange = async (settlements, wanted) => {
    if (wanted.length === 0 || ++claims > 2) return exchange(settlements, wanted);
    if (claims === 1) {
      first = [settlements, wanted];
      throw away;
    }
    await exchange(settlements, wanted);
    await exchange(...first!);
    throw away;
  };
}

test("a claim that was carried out twice brings no more handlers than slots, and what is too much is given back at no cost", async () => {
  const { client, clock } = await openClient({ prepare: delayFirstClaim, onTrouble: () => {} });
  await client.enqueueMany([{ type: "t" }, { type: "t" }]);
  let running = 0;
  let most = 0;
  const ended: string[] = [];
  client.work(
    {
      t: async (_payload, { job }) => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => clock.setTimer(resolve, 1_000));
        running--;
        ended.push(job.id);
      },
    },
    { concurrency: 1 },
  );
  await clock.advance("10s");
  expect(most).toBe(1);
  const { jobs } = await client.list();
  expect(jobs.map(({ id, status, attempt }) => ({ id, status, attempt }))).toEqual(
    ended.toReversed().map((id) => ({ id, status: "completed", attempt: 1 })),
  );
  expect(ended).toHaveLength(2);
});

test("a claim that is answered after the worker has stopped is given back at no cost while the client is open", async () => {
  const answer = Promise.withResolvers<void>();
  const prepare = (store: Store): void => {
    const exchange = store.exchange.bind(store);
    store.exchange = async (settlements, wanted) => {
      const answered = await exchange(settlements, wanted);
      if (wanted.length > 0) await answer.promise;
      return answered;
    };
  };
  const { client, clock } = await openClient({ prepare });
  const { id } = await client.enqueue("t");
  const worker = client.work({ t: async () => {} });
  await clock.settle();
  const stopping = worker.stop({ grace: "1h" });
  await clock.advance(500);
  await stopping;
  expect(await client.get(id)).toMatchObject({ status: "running" });
  answer.resolve();
  await clock.settle();
  expect(await client.get(id)).toMatchObject({ status: "pending", attempt: 0 });
});
