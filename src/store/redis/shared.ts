import type { Spend, Spent } from "../../core/allowance.ts";
import type { AuditEntry, NewAuditEntry } from "../../core/audit.ts";
import type { Actor } from "../../core/manual-change.ts";
import { livingMutes, type Mute } from "../../core/mute.ts";
import { FORMER_WORKERS_MS, formerOf, type FormerWorker, MAX_FORMER_WORKERS, type WorkerEntry } from "../../core/worker-entry.ts";
import { listOf, numberOf, type Reply, textOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { MARK, MUTE, REGISTER, SPEND, STOP_WORKER, WORKERS, WRITE_AUDIT } from "./statements/shared.ts";

export async function registerWorker({ session, keys }: Context, worker: WorkerEntry, ttlMs: number): Promise<void> {
  await session.run(REGISTER, keys.workers, [worker.id, String(ttlMs), JSON.stringify(worker)]);
}

export async function unregisterWorker({ session, keys }: Context, workerId: string): Promise<void> {
  await session.run(STOP_WORKER, keys.workers, [workerId]);
}

export async function livingWorkers({ session, keys }: Context): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]> {
  const entries = listOf(await session.run(WORKERS, keys.workers, ["0"])).map(readEntry);
  return entries.map(({ entry, heartbeatAt }) => ({ ...entry, heartbeatAt }));
}

export async function formerWorkers({ session, keys }: Context): Promise<FormerWorker[]> {
  const [entries, now] = await Promise.all([session.run(WORKERS, keys.workers, ["1"]), session.now()]);
  return listOf(entries)
    .map(readEntry)
    .filter(({ until }) => until > now - FORMER_WORKERS_MS)
    .sort((a, b) => b.until - a.until || (a.entry.id < b.entry.id ? -1 : 1))
    .slice(0, MAX_FORMER_WORKERS)
    .map(({ entry, heartbeatAt, until }) => formerOf(entry, heartbeatAt, until));
}

function readEntry(text: Reply): { readonly entry: WorkerEntry; readonly heartbeatAt: number; readonly until: number } {
  const [, until, heartbeatAt, json] = /^(\d+) (\d+) (.*)$/s.exec(textOf(text))!;
  return { entry: JSON.parse(json!) as WorkerEntry, heartbeatAt: Number(heartbeatAt), until: Number(until) };
}

/** One script per name, sent together: on a Cluster each name has its own slot. */
export function spendShares({ session, keys }: Context, spends: readonly Spend[]): Promise<Spent[]> {
  return Promise.all(
    spends.map(async ({ name, units, perMs }) => {
      const [taken, waitMs] = listOf(await session.run(SPEND, keys.allowance(name), [String(units), String(perMs)]));
      return { taken: numberOf(taken), waitMs: numberOf(waitMs) };
    }),
  );
}

export async function setMark({ session, keys }: Context, name: string, ttlMs: number): Promise<void> {
  await session.run(MARK, keys.mark(name), [String(ttlMs)]);
}

/** One command per name, as above. */
export async function readMarks({ session, keys }: Context, names: readonly string[]): Promise<boolean[]> {
  const [now, marks] = await Promise.all([session.now(), Promise.all(names.map((name) => session.command("GET", keys.mark(name))))]);
  return marks.map((until) => until !== null && numberOf(until) > now);
}

export async function muteGroup({ session, keys }: Context, group: string, actor: Actor, ttlMs: number | null): Promise<void> {
  await session.run(MUTE, keys.mutes, [group, ttlMs === null ? "" : String(ttlMs), JSON.stringify({ ...actor, group })]);
}

export async function unmuteGroup({ session, keys }: Context, group: string): Promise<void> {
  await session.command("HDEL", keys.mutes, group);
}

export async function readMutes({ session, keys }: Context): Promise<Mute[]> {
  const [now, entries] = await Promise.all([session.now(), session.command("HVALS", keys.mutes)]);
  const mutes = listOf(entries).map((entry): Mute => {
    const [, until, at, json] = /^(\d+) (\d+) (.*)$/s.exec(textOf(entry))!;
    return { ...(JSON.parse(json!) as Actor & { group: string }), at: Number(at), until: until === "0" ? null : Number(until) };
  });
  return livingMutes(mutes, now);
}

export async function writeAudit({ session, keys }: Context, entries: readonly NewAuditEntry[]): Promise<void> {
  await session.run(
    WRITE_AUDIT,
    keys.audit,
    entries.map((entry) => JSON.stringify(entry)),
  );
}

export async function readAudit({ session, keys }: Context, before: number | null, limit: number): Promise<AuditEntry[]> {
  const from = before === null ? "+inf" : `(${before}`;
  const found = await session.command("ZREVRANGEBYSCORE", keys.audit, from, "1", "LIMIT", "0", String(limit));
  return listOf(found).map((entry) => {
    const [, number, at, json] = /^(\d+) (\d+) (.*)$/s.exec(textOf(entry))!;
    return { ...(JSON.parse(json!) as NewAuditEntry), number: Number(number), at: Number(at) };
  });
}
