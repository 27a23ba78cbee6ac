import type { Spend, Spent } from "../../core/allowance.ts";
import { listOf, numberOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { SPEND } from "./statements/allowance.ts";

/** One script each, sent together: on a Cluster each name has its own slot. */
export function spendShares({ session, keys }: Context, spends: readonly Spend[]): Promise<Spent[]> {
  return Promise.all(
    spends.map(async ({ name, units, perMs }) => {
      const [taken, waitMs] = listOf(await session.run(SPEND, keys.allowance(name), [String(units), String(perMs)]));
      return { taken: numberOf(taken), waitMs: numberOf(waitMs) };
    }),
  );
}
