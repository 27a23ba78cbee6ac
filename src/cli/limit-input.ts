/** The limits that `limits set` makes of the present ones and of what was given. */
import type { KeyLimitOptions, LimitOptions, OneKeyLimitOptions, PlainClient } from "../client/client.ts";
import { CommandRefused } from "./exit-codes.ts";

/** The options of `limits set` that are limits. */
export interface GivenLimits extends OneKeyLimitOptions {
  readonly perKeyRunning: KeyLimitOptions["running"];
  readonly perKeyRate: KeyLimitOptions["rate"];
  readonly perKeyBurst: KeyLimitOptions["burst"];
  readonly perKeyWaiting: KeyLimitOptions["waiting"];
}

const NOTHING_GIVEN = "nothing to set: pass a limit, such as --running 50 or --per-key-running 2";

/** The limits of a queue with what was given. Null if none is left. */
export async function changedLimits(client: PlainClient, queue: string, given: GivenLimits): Promise<LimitOptions | null> {
  if (given.waiting !== undefined) throw new CommandRefused("--waiting needs --key; for every key, use --per-key-waiting");
  if (given.weight !== undefined) throw new CommandRefused("--weight needs --key or --without-key");
  const { running, rate, burst, perKeyRunning, perKeyRate, perKeyBurst, perKeyWaiting } = given;
  const ofQueue = { running, rate, burst };
  const ofKeys = { running: perKeyRunning, rate: perKeyRate, burst: perKeyBurst, waiting: perKeyWaiting };
  if ([...Object.values(ofQueue), ...Object.values(ofKeys)].every((value) => value === undefined)) throw new CommandRefused(NOTHING_GIVEN);
  const { perKey, ...present } = (await client.queue(queue))?.limits ?? {};
  return { ...changed(present, ofQueue), perKey: changed(perKey ?? {}, ofKeys) };
}

/** The limits of one key with what was given; null as the key: the jobs without one. */
export async function changedOwn(client: PlainClient, queue: string, key: string | null, given: GivenLimits): Promise<OneKeyLimitOptions> {
  const { perKeyRunning, perKeyRate, perKeyBurst, perKeyWaiting, ...own } = given;
  if ([perKeyRunning, perKeyRate, perKeyBurst, perKeyWaiting].some((value) => value !== undefined)) {
    throw new CommandRefused("--per-key-… is for the whole queue: leave out --key and --without-key");
  }
  if (Object.values(own).every((value) => value === undefined)) throw new CommandRefused(NOTHING_GIVEN);
  return changed((await client.limits.get(queue, key)) ?? {}, own);
}

/** What is given replaces what is there. A burst belongs to its rate. */
function changed<Limits extends OneKeyLimitOptions>(present: Limits, given: Limits): Limits {
  const { burst, ...kept } = present;
  const keepsBurst = given.rate === undefined && burst !== undefined;
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...kept, ...(keepsBurst ? { burst } : {}), ...said } as Limits;
}
