import type { Bench } from "./family.ts";
import type { HeldLease } from "./limits.ts";
import { mayHaveHappened } from "./story.ts";
import type { Wait } from "./wait.ts";

/** A stretch of the history in which a job with a limit key surely was pending. */
export interface KeyedWait extends Wait {
  readonly limitKey: string;
}

/** With equal weights, another key may have had so many starts more while a key had a job that could start. */
const FAIR_LEAD = 2;

/**
 * While a job of a key waits, no other key of its type and priority starts many more jobs than its own. Claims of which nobody heard may have
 * taken something of it, so where there were some, nothing is sure.
 */
export function checkTurns(bench: Bench, waits: readonly KeyedWait[], leases: readonly HeldLease[]): void {
  const unheard = bench.history.claims.filter((claim) => claim.phase === "unknown" && mayHaveHappened(claim));
  for (const wait of waits) {
    const line = (lease: HeldLease): boolean => lease.type === wait.type && lease.priority === wait.priority;
    const meanwhile = leases.filter((lease) => line(lease) && lease.grant.answered.line > wait.from && lease.grant.invoked.line < wait.to);
    if (meanwhile.length <= FAIR_LEAD) continue;
    if (unheard.some(({ invoked, answered }) => invoked.line < wait.to && (answered?.line ?? Infinity) > wait.from)) continue;
    checkWait(bench, wait, meanwhile);
  }
}

function checkWait({ report, options }: Bench, wait: KeyedWait, meanwhile: readonly HeldLease[]): void {
  const own = meanwhile.filter(({ limitKey }) => limitKey === wait.limitKey).length;
  const others = new Map<string, HeldLease[]>();
  for (const lease of meanwhile) {
    const { limitKey, grant } = lease;
    const isSure = grant.invoked.line > wait.from && grant.answered.line < wait.to && grant.invoked.at >= wait.fromAt + options.overlookMs;
    if (limitKey === null || limitKey === wait.limitKey || !isSure) continue;
    others.set(limitKey, [...(others.get(limitKey) ?? []), lease]);
  }
  for (const [other, started] of others) {
    if (started.length - own <= FAIR_LEAD + options.slackTurns) continue;
    const says = `was the ${started.length}th of limit key ${other} to start, while job ${wait.job} waited with limit key ${wait.limitKey}, of which ${own} started`;
    report("turns", started.at(-1)!.job, says, [wait.from, ...started.map(({ grant }) => grant.answered.line)]);
    return;
  }
}
