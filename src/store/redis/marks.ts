import { numberOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { MARK } from "./statements/mark.ts";

export async function setMark({ session, keys }: Context, name: string, ttlMs: number): Promise<void> {
  await session.run(MARK, keys.mark(name), [String(ttlMs)]);
}

/** One command each, sent together: on a Cluster each name has its own slot. */
export async function readMarks({ session, keys }: Context, names: readonly string[]): Promise<boolean[]> {
  const [now, marks] = await Promise.all([session.now(), Promise.all(names.map((name) => session.command("GET", keys.mark(name))))]);
  return marks.map((until) => until !== null && numberOf(until) > now);
}
