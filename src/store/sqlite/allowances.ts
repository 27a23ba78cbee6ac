import { type Spend, type Spent, takeShare } from "../../core/allowance.ts";
import { READ_ALLOWANCE, WRITE_ALLOWANCE } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export function spendShare(tx: Transaction, spend: Spend): Spent {
  const stored = tx.on.number(READ_ALLOWANCE, spend.name) ?? tx.now;
  const { taken, waitMs, freeAt } = takeShare(stored, spend, tx.now);
  if (freeAt !== stored) tx.on.run(WRITE_ALLOWANCE, spend.name, freeAt);
  return { taken, waitMs };
}
