import { expect, test } from "vitest";
import { watchLeases } from "../../../src/observe/lease-watch.ts";

/** Leases as a class has them: its verbs are not its own properties, and need it to be themselves. */
class Leases {
  readonly #holder = "w1";

  async exchange(): Promise<{ results: "stale"[]; jobs: [] }> {
    return { results: ["stale"], jobs: [] };
  }

  async extend(): Promise<"stale"[]> {
    return ["stale"];
  }

  async note(): Promise<"stale"[]> {
    return ["stale"];
  }

  holder(): string {
    return this.#holder;
  }
}

test("leases that are watched keep the verbs that nobody watches, also those of a class", async () => {
  const refused: string[] = [];
  const leases = watchLeases(new Leases(), [{ refused: (verb, count) => refused.push(`${verb} ${count}`) }]);
  expect(leases.holder()).toBe("w1");
  await leases.extend();
  await leases.note();
  expect(refused).toEqual(["extend 1", "note 1"]);
});
