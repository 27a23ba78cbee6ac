import { describe, expect, test } from "vitest";
import { partitionOf, PARTITIONS } from "../../../src/core/partition.ts";

describe("the partition of a queue", () => {
  // Ids in stores carry it: a change would make every stored job unfindable on a cluster.
  test.each([
    ["default", 402],
    ["mail", 668],
    ["a", 700],
    ["Z:9._-", 124],
  ])("of %s can never change", (queue, partition) => {
    expect(partitionOf(queue)).toBe(partition);
  });

  test("of a delivery queue is that of its neighbour: one script must reach both", () => {
    expect(partitionOf("mail~webhooks")).toBe(partitionOf("mail"));
  });

  test("spreads queues over all partitions", () => {
    const used = new Set(Array.from({ length: 20_000 }, (_, number) => partitionOf(`queue-${number}`)));
    expect(used.size).toBe(PARTITIONS);
  });
});
