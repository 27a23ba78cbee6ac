/**
 * WHERE WORK IS OBSERVED. Everything that workers do goes through their leases: claims, reports, renewals. Figures and logs watch them there, in
 * the process that works or serves, so that the store need not announce each job.
 */
import type { Job } from "../core/job.ts";
import type { LeaseAnswer } from "../core/lease.ts";
import type { AttemptFacts, Outcome, Policy } from "../core/lifecycle.ts";

export interface SeenClaim {
  readonly job: Job;
  readonly fence: number;
  readonly facts: SeenFacts;
}

export interface SeenReport {
  readonly id: string;
  readonly fence: number;
  readonly outcome: Outcome;
  readonly heldMs?: number | undefined;
  readonly facts?: SeenFacts | undefined;
}

/** What is known about a job while its lease holds. */
export type SeenFacts = AttemptFacts & Policy & { readonly type: string; readonly queue: string };

export type LeaseVerb = "settle" | "extend" | "note";

/** Called after something was committed. */
export interface LeaseWatcher {
  claimed?(claims: readonly SeenClaim[]): void;
  /** Called for each claim that was told to come again, because a job waits for a rate or a held limit key. */
  putOff?(): void;
  reported?(reports: readonly SeenReport[], answers: readonly LeaseAnswer[]): void;
  /** Called after each exchange that the store answered, and with the error of each that failed. */
  exchanged?(): void;
  failed?(error: unknown): void;
  /** Called with the number of writes that were refused as stale. */
  refused?(verb: LeaseVerb, count: number): void;
}

/** The part of `Client.leases` that is watched. */
export interface WatchableLeases {
  exchange(
    reports: readonly SeenReport[],
    claim: never,
  ): Promise<{ readonly results: LeaseAnswer[]; readonly jobs: readonly SeenClaim[]; readonly againInMs?: number | null | undefined }>;
  extend(leases: never, leaseMs: number): Promise<LeaseAnswer[]>;
  note(notes: never): Promise<LeaseAnswer[]>;
}

/** The same leases, watched. */
export function watchLeases<Leases extends WatchableLeases>(leases: Leases, watchers: readonly LeaseWatcher[]): Leases {
  const watched = watchedVerbs(leases, watchers);
  return new Proxy(leases, {
    get(target, name) {
      if (Object.hasOwn(watched, name)) return watched[name as keyof WatchableLeases];
      // Not watched: called on the original, which may be a class with private fields.
      const verb: unknown = Reflect.get(target, name);
      return typeof verb === "function" ? (verb.bind(target) as unknown) : verb;
    },
  });
}

/** Watches leases that workers already use. */
export function watchFromNowOn(leases: WatchableLeases, watchers: readonly LeaseWatcher[]): void {
  const unwatched = { exchange: leases.exchange.bind(leases), extend: leases.extend.bind(leases), note: leases.note.bind(leases) };
  Object.assign(leases, watchedVerbs(unwatched, watchers));
}

/** Errors of a watcher are ignored: the work is done, and counting must not undo it. */
function watchedVerbs(leases: WatchableLeases, watchers: readonly LeaseWatcher[]): WatchableLeases {
  const notify = (call: (watcher: LeaseWatcher) => void): void => {
    for (const watcher of watchers) {
      try {
        call(watcher);
      } catch {
        // Nobody is there to tell.
      }
    }
  };
  const notifyRefused = (verb: LeaseVerb, answers: readonly LeaseAnswer[]): void => {
    const count = answers.filter((answer) => answer === "stale").length;
    if (count > 0) notify((watcher) => watcher.refused?.(verb, count));
  };
  return {
    exchange: async (reports, claim) => {
      const answer = await leases.exchange(reports, claim).catch((error: unknown) => {
        notify((watcher) => watcher.failed?.(error));
        throw error;
      });
      notify((watcher) => watcher.exchanged?.());
      if (reports.length > 0) {
        notify((watcher) => watcher.reported?.(reports, answer.results));
        notifyRefused("settle", answer.results);
      }
      if (answer.jobs.length > 0) notify((watcher) => watcher.claimed?.(answer.jobs));
      if (answer.againInMs !== null && answer.againInMs !== undefined) notify((watcher) => watcher.putOff?.());
      return answer;
    },
    extend: async (refs, leaseMs) => {
      const answers = await leases.extend(refs, leaseMs);
      notifyRefused("extend", answers);
      return answers;
    },
    note: async (notes) => {
      const answers = await leases.note(notes);
      notifyRefused("note", answers);
      return answers;
    },
  };
}
