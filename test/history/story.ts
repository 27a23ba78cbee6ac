import { FLOW_TYPE } from "../../src/core/flow.ts";
import type { Answered, Asked, Granted, Phase, Seen, SentJob, StoredJob, Verb } from "./line.ts";

/** When something was written down. Lines are in the order in which things happened, so their numbers say what came before what. */
export interface Moment {
  readonly at: number;
  readonly line: number;
}

/** A call with its answer. Whatever it did, it did after `invoked` and, if there was an answer, before `answered`. */
export interface Op<V extends Verb> {
  readonly do: V;
  readonly by: string;
  readonly ask: Asked[V];
  readonly phase: Phase;
  readonly answer: Answered[V];
  readonly invoked: Moment;
  /** Null when there never was one: the process died, or the history ends. */
  readonly answered: Moment | null;
}

/** A job was sent: by a producer, or by the tick of a schedule. */
export interface Sending {
  readonly sent: SentJob;
  readonly schedule: string | null;
  /** The nominal time of that tick; null for a run by hand. */
  readonly tick: number | null;
  readonly phase: Phase;
  readonly answer: Answered["insert"];
  readonly invoked: Moment;
  readonly answered: Moment | null;
}

/** One lease, and the claim that it came with. */
export interface Grant extends Granted {
  readonly by: string;
  readonly worker: string;
  readonly turn: number;
  readonly again: boolean;
  readonly leaseMs: number;
  readonly invoked: Moment;
  readonly answered: Moment;
}

/** Something seen, when and by whom. */
export type Sighting<S extends keyof Seen> = Seen[S] & Moment & { readonly by: string };

/** All that a history tells of one job. */
export interface JobStory {
  readonly id: string;
  readonly sendings: Sending[];
  readonly enqueues: Op<"enqueue">[];
  readonly grants: Grant[];
  readonly settles: Op<"settle">[];
  readonly extends: Op<"extend">[];
  readonly notes: Op<"note">[];
  readonly keeps: Op<"keep-steps">[];
  readonly stepReads: Op<"read-steps">[];
  readonly stepEnds: Op<"end-step">[];
  readonly cancels: Op<"cancel">[];
  readonly retries: Op<"retry">[];
  readonly runNows: Op<"run-now">[];
  readonly opens: Op<"open">[];
  /** Of a flow: the statuses that its job got, and the members that were added to it. */
  readonly flowMoves: Op<"set-flow">[];
  readonly additions: Op<"add-members">[];
  readonly removes: Op<"remove">[];
  readonly starts: Sighting<"start">[];
  readonly ends: Sighting<"end">[];
  readonly aborts: Sighting<"abort">[];
  readonly effects: Sighting<"effect">[];
  readonly wentOn: Sighting<"went-on">[];
  /** At most one, if the dump is sound. */
  readonly stored: (StoredJob & Moment)[];
}

export type Chapter = Exclude<keyof JobStory, "id">;

export function emptyStory(id: string): JobStory {
  return {
    id,
    sendings: [],
    enqueues: [],
    grants: [],
    settles: [],
    extends: [],
    notes: [],
    keeps: [],
    stepReads: [],
    stepEnds: [],
    cancels: [],
    retries: [],
    runNows: [],
    opens: [],
    flowMoves: [],
    additions: [],
    removes: [],
    starts: [],
    ends: [],
    aborts: [],
    effects: [],
    wentOn: [],
    stored: [],
  };
}

/** Whether this is the job of a flow: nobody runs it, and it has the status of its flow. */
export function isFlow({ sendings, stored }: Pick<JobStory, "sendings" | "stored">): boolean {
  return sendings.some(({ sent }) => sent.flow !== undefined) || stored.some(({ type }) => type === FLOW_TYPE);
}

interface Timed {
  readonly phase: Phase;
  readonly invoked: Moment;
  readonly answered: Moment | null;
}

/** It took effect, or may have. */
export function mayHaveHappened({ phase }: Timed): boolean {
  return phase !== "fail";
}

export function happened({ phase }: Timed): boolean {
  return phase === "ok";
}

/** The line before which its effect is certain to have come, if it came at all. An unknown call may still come true after its error. */
export function lastLine({ phase, answered }: Timed): number {
  return phase === "unknown" || answered === null ? Infinity : answered.line;
}

/** Whether one was over when the other began. */
export function isBefore(one: Timed, other: Timed): boolean {
  return lastLine(one) < other.invoked.line;
}

/** The lines of a call. */
export function linesOf({ invoked, answered }: Timed): (number | null)[] {
  return [invoked.line, answered?.line ?? null];
}

/** The leases of a job in the order of their fences. A claim that was answered again gives the same lease: the first answer counts. */
export function leasesOf(story: JobStory): Grant[] {
  const byFence = new Map<number, Grant>();
  for (const grant of story.grants) {
    const known = byFence.get(grant.fence);
    if (known === undefined || (grant.answered.line < known.answered.line && !grant.again)) byFence.set(grant.fence, grant);
  }
  return [...byFence.values()].sort((a, b) => a.fence - b.fence);
}

/** The same was said before, and may have been heard: then to hear it again is no second time. */
export function isRepeat(settle: Op<"settle">, settles: readonly Op<"settle">[]): boolean {
  if (settle.ask.ifExpired) return false;
  return settles.some((other) => isSameReport(other, settle) && mayHaveHappened(other) && other.invoked.line < settle.invoked.line);
}

export function isSameReport(one: Op<"settle">, other: Op<"settle">): boolean {
  return one.ask.fence === other.ask.fence && one.ask.outcome === other.ask.outcome;
}

/** The settlement of a lease that was surely applied; null when there is none, or none is sure. */
export function settlementOf({ settles }: JobStory, { fence }: Grant): Op<"settle"> | null {
  return settles.find((settle) => settle.ask.fence === fence && happened(settle)) ?? null;
}

/** Two leases of which the second surely followed the first, with nothing between them but the settlement of the first. */
export interface Succession {
  readonly before: Grant;
  readonly settle: Op<"settle">;
  readonly after: Grant;
}

/**
 * Every claim, reclaim, cancel, release and hold raises the fence by one. So the distance of two fences tells whether anything else happened in
 * between, be it a claim whose answer nobody heard.
 */
export function successionsOf(story: JobStory): Succession[] {
  const leases = leasesOf(story);
  return leases.slice(1).flatMap((after, index): Succession[] => {
    const before = leases[index]!;
    const settle = settlementOf(story, before);
    if (settle === null || after.fence !== before.fence + fenceStep(settle)) return [];
    const isDisturbed = [...story.cancels, ...story.retries].some(
      (change) => mayHaveHappened(change) && change.invoked.line < after.answered.line && lastLine(change) > before.invoked.line,
    );
    return isDisturbed ? [] : [{ before, settle, after }];
  });
}

/** From the fence of a lease to that of the next. */
export function fenceStep({ ask }: Op<"settle">): number {
  return ["release", "lost", "hold"].includes(ask.outcome) ? 2 : 1;
}
