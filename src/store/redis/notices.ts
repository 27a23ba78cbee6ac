import type { Ending } from "../../core/lifecycle.ts";
import { endNotice, type Notice } from "../../core/steps.ts";
import type { StoredNotice } from "../store.ts";
import { listOf, numberOf, parentIn, textOf } from "./codec.ts";
import { byPartition, type Context } from "./context.ts";
import { longId } from "./ids.ts";
import { ID_CHARS } from "./layout.ts";
import { DROP_NOTICES, NOTICES } from "./statements/notices.ts";

/**
 * The text of a stored notice begins with a letter:
 *   j   the notice in JSON follows
 *   c   the job with this id was cancelled
 *   e   the called job with this id ended by a move: its fence, a space, the ending in JSON, a line end, and the line of its body that names
 *       its parent. Scripts write both, and need not read JSON for it.
 */
export const encodeNotice = (notice: Notice): string => `j${JSON.stringify(notice)}`;

function readNotice(text: Buffer): Notice {
  const letter = String.fromCharCode(text[0]!);
  if (letter === "j") return JSON.parse(textOf(text.subarray(1))) as Notice;
  const id = longId(text.subarray(1, 1 + ID_CHARS));
  return letter === "c" ? { kind: "cancel", id } : readEnd(id, textOf(text.subarray(1 + ID_CHARS)));
}

function readEnd(id: string, text: string): Notice {
  const space = text.indexOf(" ");
  const line = text.indexOf("\n");
  const ending = JSON.parse(text.slice(space + 1, line)) as Ending;
  return endNotice(parentIn(text.slice(line + 1)), id, Number(text.slice(0, space)), ending);
}

/** Asks every partition how many it has, then reads from those that have some. They take turns, so that none waits for another's backlog. */
export async function readNotices(context: Context, limit: number, except: readonly string[] = []): Promise<StoredNotice[]> {
  const { session, keys, registry, reach } = context;
  const partitions = [...(await registry.partitions()).keys()];
  const leftOut = Map.groupBy(except.map(placeOf), ([partition]) => Number(partition));
  const numbersLeftOut = (partition: number): string[] => (leftOut.get(partition) ?? []).map(([, number]) => number);
  const sizes = await reach.ask("notices", partitions, async (partition) => {
    const stored = numberOf(await session.command("ZCARD", noticesKey(context, partition)));
    return Math.max(0, stored - numbersLeftOut(partition).length);
  });
  const shares = new Map(
    sharesOf(
      sizes.answers.map((size) => size ?? 0),
      limit,
    ).map((share, index) => [partitions[index]!, share]),
  );
  const some = partitions.filter((partition) => shares.get(partition)! > 0);
  if (some.length === 0 && sizes.trouble !== undefined) throw sizes.trouble;
  const { answers } = await reach.ask("some notices", some, async (partition) => {
    const args = [String(shares.get(partition)), ...numbersLeftOut(partition)];
    const parts = listOf(await session.run(NOTICES, keys.partition(partition), args));
    return Array.from({ length: parts.length / 2 }, (_, at) => ({
      key: `${partition} ${textOf(parts[2 * at])}`,
      notice: readNotice(parts[2 * at + 1] as Buffer),
    }));
  });
  const lists = answers.filter((list) => list !== undefined);
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => lists.flatMap((list) => list[place] ?? [])).flat();
}

const noticesKey = ({ keys }: Context, partition: number): string => `${keys.partition(partition)}:nt`;

/** The key of a notice: its partition, and its number there. */
const placeOf = (key: string): [partition: string, number: string] => key.split(" ") as [string, string];

/** How many of each may be read: one of each, then another of each, until it is enough. */
function sharesOf(sizes: readonly number[], limit: number): number[] {
  const shares = sizes.map(() => 0);
  let left = Math.min(
    limit,
    sizes.reduce((sum, size) => sum + size, 0),
  );
  while (left > 0) {
    for (const [index, size] of sizes.entries()) {
      if (left === 0 || shares[index] === size) continue;
      shares[index]!++;
      left--;
    }
  }
  return shares;
}

export async function dropNotices({ session, keys }: Context, dropped: readonly string[]): Promise<void> {
  const places = dropped.map(placeOf);
  await byPartition(
    places,
    ([partition]) => Number(partition),
    async (partition, some) => {
      const numbers = some.map(([, number]) => number);
      await session.run(DROP_NOTICES, keys.partition(partition), numbers);
      return numbers;
    },
  );
}
