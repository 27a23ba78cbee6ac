import type { Bench, Family } from "./family.ts";
import { LimitsInForce } from "./limits-in-force.ts";
import {
  happened,
  type Grant,
  isRepeat,
  type JobStory,
  lastLine,
  leasesOf,
  linesOf,
  mayHaveHappened,
  type Moment,
  type Op,
} from "./story.ts";
import { checkTurns, type KeyedWait } from "./turns.ts";
import { waitsOf } from "./wait.ts";

/** A lease, and the stretch of the history by lines in which it surely held. */
export interface HeldLease {
  readonly job: string;
  readonly type: string;
  readonly priority: number;
  readonly limitKey: string | null;
  readonly grant: Grant;
  readonly from: number;
  readonly to: number;
}

/** A settlement that held a limit key. */
interface Hold {
  readonly limitKey: string;
  readonly settle: Op<"settle">;
}

/** What is known of a queue with limits or limit keys. */
interface LimitedQueue {
  readonly leases: HeldLease[];
  readonly holds: Hold[];
  readonly waits: KeyedWait[];
}

/** Limits and turns: never more leases at once than a limit in force allowed, nothing of a held key, and no key waits for more than its turn. */
export const limits: Family = {
  covers: ["limit", "turns"],
  begin(bench) {
    const inForce = new LimitsInForce(bench.history);
    const queues = new Map<string, LimitedQueue>();
    return {
      job(story) {
        const [sending] = story.sendings;
        if (sending === undefined) return;
        const { queue: name, type, priority, limitKey = null } = sending.sent;
        if (limitKey === null && !inForce.has(name)) return;
        const queue = queues.get(name) ?? { leases: [], holds: [], waits: [] };
        queues.set(name, queue);
        const about = { job: story.id, type, priority, limitKey };
        for (const grant of leasesOf(story)) {
          queue.leases.push({ ...about, grant, from: grant.answered.line, to: endOf(story, grant) });
        }
        if (limitKey === null) return;
        queue.waits.push(
          ...waitsOf(story)
            .filter(({ isPending }) => isPending)
            .map((wait) => ({ ...wait, limitKey })),
        );
        // A repeat holds no longer than the first time it was said.
        const holds = story.settles.filter((op) => happened(op) && op.ask.holdMs !== undefined && !isRepeat(op, story.settles));
        queue.holds.push(...holds.map((settle) => ({ limitKey, settle })));
      },
      end() {
        for (const [name, queue] of queues) {
          queue.leases.sort((one, other) => one.grant.invoked.line - other.grant.invoked.line);
          checkRunning(bench, inForce, name, queue.leases);
          checkHolds(bench, name, queue);
          if (inForce.hasPlainTurns(name) && queue.holds.length === 0) checkTurns(bench, queue.waits, queue.leases);
        }
      },
    };
  },
};

/** The first line at which something may have ended a lease. */
function endOf({ settles, cancels, grants }: JobStory, { fence, invoked }: Grant): number {
  const enders: readonly { readonly invoked: Moment }[] = [
    ...settles.filter((op) => op.ask.fence === fence && mayHaveHappened(op)),
    ...cancels.filter((op) => mayHaveHappened(op) && lastLine(op) > invoked.line),
    ...grants.filter((grant) => grant.fence > fence),
  ];
  return Math.min(Infinity, ...enders.map(({ invoked: { line } }) => line));
}

/** The leases of one claim began together: with those that surely held all the while, they must fit. */
function checkRunning({ report }: Bench, inForce: LimitsInForce, queue: string, leases: readonly HeldLease[]): void {
  const byStart = [...leases].sort((one, other) => one.from - other.from);
  let present: HeldLease[] = [];
  let next = 0;
  for (const claim of claimsOf(leases)) {
    const { invoked, answered } = claim[0]!.grant;
    for (; next < byStart.length && byStart[next]!.from < invoked.line; next++) present.push(byStart[next]!);
    present = present.filter(({ to }) => to > invoked.line);
    const held = present.filter(({ to }) => to > answered.line);
    for (const key of new Set([undefined, ...claim.map(({ limitKey }) => limitKey)])) {
      if (key === null) continue;
      const mine = (lease: HeldLease): boolean => key === undefined || lease.limitKey === key;
      const [before, now] = [held.filter(mine), claim.filter(mine)];
      const most = inForce.running(queue, key, invoked.line, answered.line);
      if (before.length + now.length <= most) continue;
      const whose = key === undefined ? `queue ${queue}` : `limit key ${key} of ${queue}`;
      const says = `${whose} has ${before.length} leases, was given ${now.length} more, and may have ${most}`;
      report("limit", now[0]!.job, says, [...before.map(({ from }) => from), invoked.line, answered.line]);
    }
  }
}

/** The leases by the claim that brought them. */
function claimsOf(leases: readonly HeldLease[]): HeldLease[][] {
  const claims = new Map<string, HeldLease[]>();
  for (const lease of leases) {
    const name = `${lease.grant.by} ${lease.grant.invoked.line} ${lease.grant.turn}`;
    const known = claims.get(name);
    if (known === undefined) claims.set(name, [lease]);
    else known.push(lease);
  }
  return [...claims.values()];
}

/** By the engine's clock, nothing of a key starts before its hold is over. */
function checkHolds({ report, history, options }: Bench, queue: string, { leases, holds }: LimitedQueue): void {
  for (const { limitKey, settle } of holds) {
    const heldAt = history.clock.at(settle.invoked.at);
    if (heldAt === null) continue;
    const until = heldAt + settle.ask.holdMs! - options.epsilonMs;
    const early = leases.find(({ limitKey: key, grant }) => {
      return key === limitKey && grant.invoked.line > settle.answered!.line && grant.startedAt >= heldAt && grant.startedAt < until;
    });
    if (early === undefined) continue;
    const says = `started ${Math.round(until - early.grant.startedAt)} ms before limit key ${limitKey} of ${queue} was held no longer`;
    report("limit", early.job, says, [...linesOf(settle), early.grant.invoked.line, early.grant.answered.line]);
  }
}
