import { randomUUID } from "node:crypto";
import { MAX_LOG_LINES } from "../../core/job.ts";
import { partitionOf } from "../../core/partition.ts";
import { tenBitsOf } from "../../lib/id.ts";
import type { Claim, ExchangeAnswer, Lease, LeaseAnswer, LeasedRecord, Note, Settlement } from "../store.ts";
import { readGranted, type Reply, textOf } from "./codec.ts";
import { byPartition, chunksOf, type Context, MOST_PER_EXCHANGE } from "./context.ts";
import { followingOf, isEnd, type Look, plainCall, readAnswer, wholeCall } from "./exchange-calls.ts";
import { shortId } from "./ids.ts";
import { EXCHANGE } from "./statements/exchange.ts";
import { EXTEND, NOTE } from "./statements/leases.ts";

/** A claim on its way through its queues. */
interface ClaimInProgress extends Pick<Look, "claim" | "turn" | "asker"> {
  /** Consecutive queues of one partition are asked in one call. */
  readonly stops: { readonly partition: number; readonly queues: string[] }[];
  readonly taken: LeasedRecord[];
  /** When the next job may start that waits for a time. */
  againInMs: number | null;
}

const ANSWERS: Readonly<Record<string, LeaseAnswer>> = { o: "ok", s: "stale", c: "cancelled" };

/**
 * Settlements go to the partitions of their jobs, together with the first stop of each claim: for a worker of one queue all this is one
 * call. Then claims that are not filled go on, stop by stop.
 */
export async function exchange(context: Context, settlements: readonly Settlement[], claims: readonly Claim[]): Promise<ExchangeAnswer> {
  if (claims.length > 0) context.eviction.refuse();
  const begun = claims.map(beginClaim);
  await Promise.all(begun.filter(({ asker }) => asker !== "").map((begunClaim) => takeAgain(context, begunClaim)));
  const open = begun.filter((begunClaim) => begunClaim.taken.length === 0 && begunClaim.claim.limit > 0);
  const settled = await settleAndBegin(context, settlements, open);
  await Promise.all(open.map((begunClaim) => goOn(context, begunClaim)));
  const claimed = begun.map(({ taken }) => taken);
  const againInMs = begun.map((begunClaim) => begunClaim.againInMs);
  return againInMs.every((ms) => ms === null) ? { settled, claimed } : { settled, claimed, againInMs };
}

function beginClaim(claim: Claim): ClaimInProgress {
  const stops: ClaimInProgress["stops"] = [];
  for (const queue of new Set(claim.queues)) {
    const partition = partitionOf(queue);
    const last = stops.at(-1);
    if (last?.partition === partition) last.queues.push(queue);
    else stops.push({ partition, queues: [queue] });
  }
  return {
    claim,
    turn: String(claim.turn % 2 ** 32),
    asker: claim.again && claim.turn > 0 ? randomUUID() : "",
    stops,
    taken: [],
    againInMs: null,
  };
}

async function settleAndBegin(
  context: Context,
  settlements: readonly Settlement[],
  begun: readonly ClaimInProgress[],
): Promise<LeaseAnswer[]> {
  const settled: LeaseAnswer[] = Array.from({ length: settlements.length });
  const groups = new Map<number, { places: number[]; begun: ClaimInProgress[] }>();
  const groupOf = (partition: number): { places: number[]; begun: ClaimInProgress[] } => {
    let group = groups.get(partition);
    if (group === undefined) groups.set(partition, (group = { places: [], begun: [] }));
    return group;
  };
  settlements.forEach(({ id }, place) => groupOf(tenBitsOf(id)).places.push(place));
  for (const begunClaim of begun) if (begunClaim.stops.length > 0) groupOf(begunClaim.stops[0]!.partition).begun.push(begunClaim);

  const calls = [...groups].flatMap(([partition, { places, begun }]) => {
    const chunks = split(settlements, places).flatMap((some) => chunksOf(some, MOST_PER_EXCHANGE));
    const last = chunks.pop() ?? [];
    // They run in this order: the claims go with the last settlements.
    return [...chunks.map((some) => callOf(partition, some, [])), callOf(partition, last, begun)];
  });

  async function callOf(partition: number, places: readonly number[], begun: readonly ClaimInProgress[]): Promise<void> {
    const some = places.map((place) => settlements[place]!);
    const letters = await call(context, partition, some, begun, (begunClaim) => begunClaim.stops[0]!.queues);
    places.forEach((place, index) => (settled[place] = ANSWERS[letters[index]!]!));
  }
  await Promise.all(calls);
  return settled;
}

/** From this many plain ends on, a call of their own costs the server less than what the short script saves for them. */
const FEWEST_APART = 25;

/** One failed job should not send many completed ones to the long script: they go apart, and last, because the claims go with them. */
function split(settlements: readonly Settlement[], places: readonly number[]): (readonly number[])[] {
  const ends = places.filter((place) => isEnd(settlements[place]!));
  if (ends.length < FEWEST_APART || ends.length === places.length) return [places];
  // A job that is given twice keeps the order of its settlements.
  if (new Set(places.map((place) => settlements[place]!.id)).size < places.length) return [places];
  return [places.filter((place) => !isEnd(settlements[place]!)), ends];
}

/** Asks the first stop again if it may have more than one call returns, then the others. */
async function goOn(context: Context, begunClaim: ClaimInProgress): Promise<void> {
  const { claim, stops, taken } = begunClaim;
  let at = taken.length < Math.min(claim.limit, MOST_PER_EXCHANGE) ? 1 : 0;
  while (at < stops.length && taken.length < claim.limit) {
    const before = taken.length;
    const { partition, queues } = stops[at]!;
    await call(context, partition, [], [begunClaim], () => queues);
    if (taken.length < Math.min(claim.limit, before + MOST_PER_EXCHANGE)) at++;
  }
}

/** The jobs that this turn's claim was granted before, in any partition. */
async function takeAgain(context: Context, begunClaim: ClaimInProgress): Promise<void> {
  const partitions = [...new Set(begunClaim.stops.map(({ partition }) => partition))];
  await Promise.all(partitions.map((partition) => call(context, partition, [], [begunClaim], () => [], "a")));
}

/** Calls a script once, adds the granted jobs to each claim, and returns a letter for each settlement. */
async function call(
  context: Context,
  partition: number,
  settlements: readonly Settlement[],
  begun: readonly ClaimInProgress[],
  queuesOf: (begunClaim: ClaimInProgress) => readonly string[],
  mode: "n" | "a" = "n",
): Promise<string> {
  const { session, keys, feed, registry } = context;
  const followed = followingOf(settlements).map(({ job }) => job.queue);
  if (followed.length > 0) await registry.register(followed);
  // A try that claims has a name, so that the server recognises it if it arrives after its repeat.
  const name = mode === "n" && begun.length > 0 ? randomUUID() : "";
  const looks = begun.map((begunClaim) => ({ ...begunClaim, queues: queuesOf(begunClaim) }));
  const first = (mode === "n" ? plainCall(settlements, looks, name) : null) ?? wholeCall(settlements, looks, name, mode);
  let isRepeat = false;
  const reply = await session.run(first.script, keys.partition(partition), first.args, () => {
    isRepeat = true;
    return wholeCall(settlements, looks, name, "a");
  });
  const answer = readAnswer(isRepeat ? EXCHANGE : first.script, reply);
  const unfilled = begun.filter((begunClaim, index) => {
    const granted = answer.claims[index]!;
    for (const job of readGranted(granted, begunClaim.claim, answer)) addOnce(begunClaim.taken, job, isRepeat);
    begunClaim.againInMs = earlier(begunClaim.againInMs, answer.againInMs[index]!);
    return granted.jobs.length === 0;
  });
  feed.sendHints(answer.hints);
  feed.tellOfNotices(answer.notices);
  // The call whose answer was lost was not carried out: now claim for real.
  if (isRepeat && mode === "n" && unfilled.length > 0) await call(context, partition, [], unfilled, queuesOf);
  return answer.letters;
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** A repeat returns all jobs of its turn, also those that an earlier call of the same claim returned. */
function addOnce(taken: LeasedRecord[], job: LeasedRecord, isRepeat: boolean): void {
  if (!isRepeat || !taken.some(({ id }) => id === job.id)) taken.push(job);
}

type Extension = Lease & { readonly leaseMs: number };

export function extendLeases(context: Context, leases: readonly Extension[]): Promise<LeaseAnswer[]> {
  return byPartition(
    leases,
    ({ id }) => tenBitsOf(id),
    async (partition, some) => {
      const args = some.flatMap(({ id, fence, leaseMs }) => [shortId(id), String(fence), String(leaseMs)]);
      return readLetters(await context.session.run(EXTEND, context.keys.partition(partition), args));
    },
  );
}

export function writeNotes(context: Context, notes: readonly Note[]): Promise<LeaseAnswer[]> {
  return byPartition(
    notes,
    ({ id }) => tenBitsOf(id),
    async (partition, some) => {
      const args = some.flatMap(({ id, fence, progress, lines }) => {
        const texts = lines.slice(0, MAX_LOG_LINES).map((line) => JSON.stringify(line));
        return [shortId(id), String(fence), progress === null ? "" : JSON.stringify(progress), String(texts.length), ...texts];
      });
      return readLetters(await context.session.run(NOTE, context.keys.partition(partition), [String(MAX_LOG_LINES), ...args]));
    },
  );
}

function readLetters(reply: Reply): LeaseAnswer[] {
  return Array.from(textOf(reply), (letter) => ANSWERS[letter]!);
}
