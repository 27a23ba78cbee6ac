/**
 * WHERE WORK IS SEEN. All that workers do goes through their leases: claims, ends of attempts, renewals. Whoever counts or logs watches there,
 * in the process that works or serves, so that the store need not announce each job for it.
 */
import type { Job } from "../core/job.ts";
import type { LeaseAnswer } from "../core/lease.ts";
import type { AttemptFacts, Outcome, Policy } from "../core/lifecycle.ts";

/** A job that was claimed. */
export interface SeenClaim {
  readonly job: Job;
  readonly fence: number;
  readonly facts: SeenFacts;
}

/** An attempt that was reported as ended. */
export interface SeenReport {
  readonly id: string;
  readonly fence: number;
  readonly outcome: Outcome;
  readonly facts?: SeenFacts | undefined;
}

/** What is known of a job while its lease holds. */
export type SeenFacts = AttemptFacts & Policy & { readonly type: string; readonly queue: string };

/** What is done under a lease. */
export type LeaseVerb = "settle" | "extend" | "note";

/** Told what happened, after it was committed. */
export interface LeaseWatcher {
  claimed?(claims: readonly SeenClaim[]): void;
  reported?(reports: readonly SeenReport[], answers: readonly LeaseAnswer[]): void;
  /** So many writes were refused as stale. */
  refused?(verb: LeaseVerb, count: number): void;
}

/** The part of `Client.leases` that is watched. */
export interface WatchableLeases {
  exchange(reports: readonly SeenReport[], claim: never): Promise<{ readonly results: LeaseAnswer[]; readonly jobs: readonly SeenClaim[] }>;
  extend(leases: never, leaseMs: number): Promise<LeaseAnswer[]>;
  note(notes: never): Promise<LeaseAnswer[]>;
}

/** The same leases, watched. What a watcher throws is dropped: the work has been done, and counting must not undo it. */
export function watchLeases<Leases extends WatchableLeases>(leases: Leases, watchers: readonly LeaseWatcher[]): Leases {
  const tell = (news: (watcher: LeaseWatcher) => void): void => {
    for (const watcher of watchers) {
      try {
        news(watcher);
      } catch {
        // There is nobody to tell.
      }
    }
  };
  const tellRefused = (verb: LeaseVerb, answers: readonly LeaseAnswer[]): void => {
    const count = answers.filter((answer) => answer === "stale").length;
    if (count > 0) tell((watcher) => watcher.refused?.(verb, count));
  };
  const watched: WatchableLeases = {
    exchange: async (reports, claim) => {
      const answer = await leases.exchange(reports, claim);
      if (reports.length > 0) {
        tell((watcher) => watcher.reported?.(reports, answer.results));
        tellRefused("settle", answer.results);
      }
      if (answer.jobs.length > 0) tell((watcher) => watcher.claimed?.(answer.jobs));
      return answer;
    },
    extend: async (refs, leaseMs) => {
      const answers = await leases.extend(refs, leaseMs);
      tellRefused("extend", answers);
      return answers;
    },
    note: async (notes) => {
      const answers = await leases.note(notes);
      tellRefused("note", answers);
      return answers;
    },
  };
  return new Proxy(leases, {
    get(target, name) {
      if (Object.hasOwn(watched, name)) return watched[name as keyof WatchableLeases];
      // Not watched: handed on to its own, which may be a class that keeps what it knows to itself.
      const verb: unknown = Reflect.get(target, name);
      return typeof verb === "function" ? (verb.bind(target) as unknown) : verb;
    },
  });
}
