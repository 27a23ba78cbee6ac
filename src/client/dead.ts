/** Dead letters: jobs that failed for good and wait for somebody to act. */
import { toJobSummary } from "../core/job.ts";
import { type Move, RETRY } from "../core/lifecycle.ts";
import type { Clock } from "../lib/clock.ts";
import type { ChangeAnswer, ListQuery, Store } from "../store/store.ts";
import type { Announcer } from "./announcer.ts";
import { announceChanges, tellEnded } from "./changes.ts";
import type { DeadLetters } from "./client.ts";
import { readDeadFilter, readDeadQuery, readGroupFilter } from "./filter.ts";
import { listJobs, listToChange } from "./search.ts";

/** Only dead ones: a job that somebody cancelled or retried since it was listed is left alone. */
const REVIVE: Move = { ...RETRY, from: ["dead"] };

/** The most groups that are shown. */
const MAX_GROUPS = 100;

export interface DeadParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly announcer: Announcer;
}

/** The dead letters of a client over a store. */
export function createDeadLetters(parts: DeadParts): DeadLetters {
  const { store } = parts;
  return {
    async list(query) {
      const { jobs, cursor } = await listJobs(store, readDeadQuery(query));
      return { jobs: jobs.map(toJobSummary), cursor };
    },
    async groups(filter) {
      return store.errorGroups({ ...readGroupFilter(filter), status: ["dead"], limit: MAX_GROUPS });
    },
    async retry(filter) {
      return forAll(store, readDeadFilter(filter), async (ids) => announceChanges(parts, await store.change(ids, REVIVE), "job:retried"));
    },
    async purge(filter) {
      return forAll(store, readDeadFilter(filter), async (ids) => tellEnded(parts.announcer, await store.remove(ids, REVIVE.from)));
    },
  };
}

/**
 * Goes through all that match, a page at a time, and counts what was done. The cursor only ever goes on to older jobs, so the walk ends,
 * however many jobs die meanwhile.
 */
async function forAll(store: Store, query: ListQuery, act: (ids: string[]) => Promise<ChangeAnswer[]>): Promise<number> {
  let done = 0;
  let cursor: string | undefined;
  do {
    const page = await listToChange(store, { ...query, cursor });
    const ids = page.jobs.map((job) => job.id);
    const answers = ids.length === 0 ? [] : await act(ids);
    done += answers.filter((answer) => answer.kind === "ok").length;
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  return done;
}
