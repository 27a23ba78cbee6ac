/** The limits of keys, and how much of them is used. Claims apply them: functions/take.ts. */
import { type RateState, takeFromRate } from "../../core/rate.ts";
import type { KeyLimitsRecord, KeyUse, LimitUse } from "../store.ts";
import { decodeText, encodeText, type Row, texts } from "./codec.ts";
import { type Context, readTexts } from "./context.ts";
import { NO_KEY } from "./lines.ts";

const encodeKey = (key: string | null): string => (key === null ? NO_KEY : encodeText(key));

export async function setKeyLimits(context: Context, queue: string, key: string | null, limits: string | null): Promise<void> {
  const { connections, sql, catalog } = context;
  await catalog.addQueues([queue]);
  await connections.call(sql.showQueue, [queue]);
  await connections.call(sql.setKeyLimits, [queue, encodeKey(key), limits]);
  if (key !== null) {
    await connections.call(sql.awaitClaims, [queue, encodeKey(key)]);
    await connections.call(sql.reconsiderKey, [queue, encodeKey(key)]);
  }
  context.sendHints([{ topic: "queues" }]);
}

export async function listKeyLimits(
  { connections, sql }: Context,
  queue: string,
  after: string | null | undefined,
  limit: number,
): Promise<KeyLimitsRecord[]> {
  const rows = await connections.call(sql.keyLimits, [queue, after === undefined ? null : encodeKey(after), limit]);
  return (rows as [string, string][]).map(([key, limits]) => ({ key: key === NO_KEY ? null : decodeText(key), limits }));
}

export async function limitUse({ connections, sql, now }: Context, queue: string, keys: readonly string[]): Promise<LimitUse | null> {
  const [ofQueue, ...ofKeys] = await connections.call(sql.keyUse, [now(), queue, texts(keys.map(encodeText)), 0]);
  if (ofQueue === undefined) return null;
  const { now: at, running } = readUse(ofQueue);
  return { now: at, running, rate: rateOf(ofQueue), keys: ofKeys.map(keyUseOf) };
}

export async function busiestKeys({ connections, sql, now }: Context, queue: string, limit: number): Promise<KeyUse[]> {
  const rows = await connections.call(sql.keyUse, [now(), queue, null, limit]);
  return rows.slice(1).map(keyUseOf);
}

type Charge = [at: number, units: number, intervalMs: number | null, heldUntil: number | null];

function readUse(row: Row) {
  return {
    key: row[0] as string,
    running: row[1] as number,
    waiting: row[2] as number,
    heldUntil: row[3] as number | null,
    busyUntil: row[4] as number | null,
    intervalMs: row[5] as number | null,
    own: row[6] as string | null,
    holders: readTexts(row[7] as string),
    charges: JSON.parse((row[8] as string | null) ?? "[]") as Charge[],
    now: row[9] as number,
  };
}

/** What a rate remembers, with the charges that no claim has added up yet. */
function rateOf(row: Row): RateState | null {
  const { busyUntil, intervalMs, charges } = readUse(row);
  const kept = busyUntil === null ? null : { busyUntil, intervalMs: intervalMs! };
  return charges.reduce<RateState | null>((state, [at, units, periodMs]) => {
    return units === 0 || periodMs === null ? state : takeFromRate({ units: 1, periodMs, burst: 1 }, state, units, at);
  }, kept);
}

function keyUseOf(row: Row): KeyUse {
  const { key, running, waiting, heldUntil, own, holders, charges, now } = readUse(row);
  const name = decodeText(key);
  const held = Math.max(heldUntil ?? 0, ...charges.map(([, , , until]) => until ?? 0));
  return { key: name, running, waiting, heldUntil: held > now ? held : null, rate: rateOf(row), holders, limits: own };
}
