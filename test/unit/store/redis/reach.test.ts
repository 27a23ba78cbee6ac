import { expect, test } from "vitest";
import { Reach } from "../../../../src/store/redis/reach.ts";

const away = new Error("the node is away");

test("partitions that fail take nothing from the others, and their error is with the answers", async () => {
  const reach = new Reach();
  const ask = async (partition: number): Promise<string> => {
    if (partition === 2) throw away;
    return `answer ${partition}`;
  };
  expect(await reach.ask("verb", [1, 2, 3], ask)).toEqual({ answers: ["answer 1", undefined, "answer 3"], trouble: away });
  await expect(reach.ask("verb", [2], ask)).rejects.toBe(away);
  expect(await reach.ask("verb", [], ask)).toEqual({ answers: [], trouble: undefined });
});

test("one that does not answer is left out until its call ends, and its failure is told then, once", async () => {
  const reach = new Reach();
  const late = Promise.withResolvers<string>();
  const asked: number[] = [];
  const ask = async (partition: number): Promise<string> => {
    asked.push(partition);
    return partition === 2 && asked.length === 2 ? late.promise : `answer ${partition}`;
  };
  expect(await reach.ask("verb", [1, 2], ask)).toEqual({ answers: ["answer 1", undefined], trouble: undefined });
  expect(await reach.ask("verb", [1, 2], ask)).toEqual({ answers: ["answer 1", undefined], trouble: undefined });
  expect(await reach.ask("verb", [2], ask)).toEqual({ answers: [undefined], trouble: undefined });
  // What is asked by another verb is another call.
  expect(await reach.ask("other", [1, 2], ask)).toEqual({ answers: ["answer 1", "answer 2"], trouble: undefined });
  late.reject(away);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await reach.ask("verb", [1, 2], ask)).toEqual({ answers: ["answer 1", "answer 2"], trouble: away });
  expect(await reach.ask("verb", [1, 2], ask)).toEqual({ answers: ["answer 1", "answer 2"], trouble: undefined });
  expect(asked).toEqual([1, 2, 1, 1, 2, 1, 2, 1, 2]);
});

test("the first answer is waited for, however long it takes: a slow server is not one that is away", async () => {
  const reach = new Reach();
  const slow = Promise.withResolvers<string>();
  let isOver = false;
  const asking = reach.ask("verb", [1, 2], () => slow.promise).finally(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  slow.resolve("slow");
  expect(await asking).toEqual({ answers: ["slow", "slow"], trouble: undefined });
});
