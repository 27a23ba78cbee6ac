import { type Spend, type Spent, takeShare } from "../../core/allowance.ts";
import { READ_ALLOWANCE, WRITE_ALLOWANCE } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export function spendShare(tx: Transaction, spend: Spend): Spent {
  const { taken, waitMs, freeAt } = takeShare(tx.on.number(READ_ALLOWANCE, spend.name) ?? tx.now, spend, tx.now);
  if (taken > 0) tx.on.run(WRITE_ALLOWANCE, spend.name, freeAt);
  return { taken, waitMs };
}
