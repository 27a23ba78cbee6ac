import { randomUUID } from "node:crypto";
import { MAX_LOG_LINES } from "../../core/job.ts";
import { partitionOf } from "../../core/partition.ts";
import { tenBitsOf } from "../../lib/id.ts";
import type { Claim, Lease, LeaseAnswer, LeasedRecord, Note, Settlement } from "../store.ts";
import { digits, encodeErrorText, encodeNumber, encodeShape, listOf, readLanes, readLeased, type Reply, textOf } from "./codec.ts";
import { byPartition, chunksOf, type Context, MOST_PER_SCRIPT } from "./context.ts";
import { longId, shortId } from "./ids.ts";
import { encodeJobs } from "./insert.ts";
import { KIND_DIGITS } from "./layout.ts";
import { EXCHANGE, EXCHANGE_FOLLOWED } from "./statements/exchange.ts";
import { EXTEND, NOTE } from "./statements/leases.ts";

/** A claim on its way through its queues. */
interface ClaimInProgress {
  readonly claim: Claim;
  readonly turn: string;
  /** The name of this repeat, to tell a late one from the last; "" for a first try. */
  readonly asker: string;
  /** Consecutive queues of one partition are asked in one call. */
  readonly stops: { readonly partition: number; readonly queues: string[] }[];
  readonly taken: LeasedRecord[];
}

const ANSWERS: Readonly<Record<string, LeaseAnswer>> = { o: "ok", s: "stale", c: "cancelled" };

/**
 * Settlements go to the partitions of their jobs, together with the first stop of each claim: for a worker of one queue all this is one
 * call. Then claims that are not filled go on, stop by stop.
 */
export async function exchange(
  context: Context,
  settlements: readonly Settlement[],
  claims: readonly Claim[],
): Promise<{ settled: LeaseAnswer[]; claimed: LeasedRecord[][] }> {
  if (claims.length > 0) context.eviction.refuse();
  const begun = claims.map(beginClaim);
  await Promise.all(begun.filter(({ asker }) => asker !== "").map((begunClaim) => takeAgain(context, begunClaim)));
  const open = begun.filter((begunClaim) => begunClaim.taken.length === 0 && begunClaim.claim.limit > 0);
  const settled = await settleAndBegin(context, settlements, open);
  await Promise.all(open.map((begunClaim) => goOn(context, begunClaim)));
  return { settled, claimed: begun.map(({ taken }) => taken) };
}

function beginClaim(claim: Claim): ClaimInProgress {
  const stops: ClaimInProgress["stops"] = [];
  for (const queue of new Set(claim.queues)) {
    const partition = partitionOf(queue);
    const last = stops.at(-1);
    if (last?.partition === partition) last.queues.push(queue);
    else stops.push({ partition, queues: [queue] });
  }
  return { claim, turn: String(claim.turn % 2 ** 32), asker: claim.again && claim.turn > 0 ? randomUUID() : "", stops, taken: [] };
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
    const chunks = chunksOf(places);
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

/** Asks the first stop again if it may have more than one call returns, then the others. */
async function goOn(context: Context, begunClaim: ClaimInProgress): Promise<void> {
  const { claim, stops, taken } = begunClaim;
  let at = taken.length < Math.min(claim.limit, MOST_PER_SCRIPT) ? 1 : 0;
  while (at < stops.length && taken.length < claim.limit) {
    const before = taken.length;
    const { partition, queues } = stops[at]!;
    await call(context, partition, [], [begunClaim], () => queues);
    if (taken.length < Math.min(claim.limit, before + MOST_PER_SCRIPT)) at++;
  }
}

/** The jobs that this turn's claim was granted before, in any partition. */
async function takeAgain(context: Context, begunClaim: ClaimInProgress): Promise<void> {
  const partitions = [...new Set(begunClaim.stops.map(({ partition }) => partition))];
  await Promise.all(partitions.map((partition) => call(context, partition, [], [begunClaim], () => [], "a")));
}

/** Calls the script once, adds the granted jobs to each claim, and returns a letter for each settlement. */
async function call(
  context: Context,
  partition: number,
  settlements: readonly Settlement[],
  begun: readonly ClaimInProgress[],
  queuesOf: (begunClaim: ClaimInProgress) => readonly string[],
  mode: "n" | "a" = "n",
): Promise<string> {
  const { session, keys, feed, registry } = context;
  const settling = encodeSettlements(settlements);
  const following = encodeFollowUps(settlements);
  if (following.length > 0) await registry.register(settlements.flatMap(({ followUp }) => followUp?.queue ?? []));
  // A try that claims has a name, so that the server recognises it if it arrives after its repeat.
  const name = mode === "n" && begun.length > 0 ? randomUUID() : "";
  const encode = (mode: "n" | "a"): string[] => [
    ...settling,
    String(begun.length),
    name,
    ...begun.flatMap((begunClaim) => encodeClaim(begunClaim, queuesOf(begunClaim), mode)),
    ...following,
  ];
  let isRepeat = false;
  const reply = await session.run(following.length > 0 ? EXCHANGE_FOLLOWED : EXCHANGE, keys.partition(partition), encode(mode), () => {
    isRepeat = true;
    return encode("a");
  });
  const [, letters, claimed, lanes, failing, hints] = listOf(reply);
  const names = readLanes(lanes);
  const withoutDeadLetters = new Set(listOf(failing).map(textOf));
  const unfilled = begun.filter((begunClaim, index) => {
    const parts = listOf(listOf(claimed)[index]) as readonly Buffer[];
    for (let at = 0; at < parts.length; at += 3) {
      addOnce(begunClaim.taken, readLeased(longId(parts[at]!), parts[at + 1]!, parts[at + 2]!, names, withoutDeadLetters), isRepeat);
    }
    return parts.length === 0;
  });
  feed.sendHints(hints);
  // The call whose answer was lost was not carried out: now claim for real.
  if (isRepeat && mode === "n" && unfilled.length > 0) await call(context, partition, [], unfilled, queuesOf);
  return textOf(letters);
}

/** A repeat returns all jobs of its turn, also those that an earlier call of the same claim returned. */
function addOnce(taken: LeasedRecord[], job: LeasedRecord, isRepeat: boolean): void {
  if (!isRepeat || !taken.some(({ id }) => id === job.id)) taken.push(job);
}

function encodeClaim({ claim, turn, asker, taken }: ClaimInProgress, queues: readonly string[], mode: "n" | "a"): string[] {
  const limit = mode === "a" ? claim.limit : Math.min(claim.limit - taken.length, MOST_PER_SCRIPT);
  const types = claim.types === "*" ? ["*"] : [String(claim.types.length), ...claim.types];
  return [claim.workerId, turn, mode, asker, String(claim.leaseMs), String(limit), ...types, String(queues.length), ...queues];
}

function encodeSettlements(settlements: readonly Settlement[]): string[] {
  const shapes = new Map<string, string>();
  const described: string[] = [];
  const args: string[] = [];
  for (const { id, fence, outcome, transition, ifExpired, heldMs = 0 } of settlements) {
    const shape = encodeShape(transition, outcome, ifExpired, heldMs > 0);
    const name = shape.join();
    let number = shapes.get(name);
    if (number === undefined) {
      shapes.set(name, (number = digits(shapes.size + 1, KIND_DIGITS)));
      described.push(...shape);
    }
    const { delayMs, runMs, result, error } = transition;
    args.push(number + shortId(id), String(fence), encodeNumber(runMs));
    // Only what the shape has is sent.
    if (heldMs > 0) args.push(String(heldMs));
    if (delayMs !== null) args.push(String(delayMs));
    if (typeof result === "string") args.push(result);
    if (error !== null && error !== undefined) args.push(encodeErrorText(error));
  }
  return [String(shapes.size), ...described, String(settlements.length), ...args];
}

/** The additional arguments of EXCHANGE_FOLLOWED; none without follow-up jobs. */
function encodeFollowUps(settlements: readonly Settlement[]): string[] {
  const numbers = settlements.flatMap(({ followUp }, index) => (followUp ? index + 1 : []));
  if (numbers.length === 0) return [];
  return [numbers.join(), ...encodeJobs(numbers.map((number) => settlements[number - 1]!.followUp!))];
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
