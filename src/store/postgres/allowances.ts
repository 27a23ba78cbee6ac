import type { Spend, Spent } from "../../core/allowance.ts";
import { encodeText } from "./codec.ts";
import { type Desk, readNumbers } from "./desk.ts";

export async function spendShares(desk: Desk, spends: readonly Spend[]): Promise<Spent[]> {
  if (spends.length === 0) return [];
  const names = spends.map(({ name }) => encodeText(name));
  const values = [desk.now(), names, spends.map(({ units }) => units), spends.map(({ perMs }) => perMs)];
  const [row] = await desk.connections.call(desk.sql.spend, values);
  const answers = readNumbers(row![0] as string);
  return spends.map((_, index) => ({ taken: answers[2 * index]!, waitMs: answers[2 * index + 1]! }));
}
