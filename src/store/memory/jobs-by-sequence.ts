import { type Status, STATUSES } from "../../core/job.ts";
import { STATE } from "../numbers.ts";
import { firstIndex } from "./line.ts";
import type { StoredJob } from "./stored-job.ts";

const PAGE_SIZE = 256;

/** A part of the sequence: the job with sequence n is at n - first. */
export interface Page {
  readonly first: number;
  /** When its first job was created; creation times rise with the sequence. */
  readonly since: number;
  readonly jobs: (StoredJob | undefined)[];
  /** Its number of jobs in each status, by the status's number. */
  readonly counts: number[];
  present: number;
}

/**
 * Every job by its sequence, in pages that count their jobs by status. So ten running jobs behind a million pending ones are found without
 * looking at each of the million, and a change of status costs two small additions.
 */
export class JobsBySequence {
  #pages: Page[] = [];
  #lastSeq = 0;

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** The page for the next job. */
  pageForNext(now: number): Page {
    const last = this.#pages.at(-1);
    if (last !== undefined && last.jobs.length < PAGE_SIZE) return last;
    if (last?.present === 0) this.#pages.pop();
    const page: Page = { first: this.#lastSeq + 1, since: now, jobs: [], counts: STATUSES.map(() => 0), present: 0 };
    this.#pages.push(page);
    return page;
  }

  add(job: StoredJob): void {
    this.#lastSeq = job.seq;
    job.page.jobs.push(job);
    job.page.present++;
    job.page.counts[STATE[job.record.status]]!++;
  }

  remove(job: StoredJob): void {
    const { page } = job;
    page.jobs[job.seq - page.first] = undefined;
    page.present--;
    page.counts[STATE[job.record.status]]!--;
    if (page.present === 0 && page !== this.#pages.at(-1)) {
      this.#pages.splice(
        firstIndex(this.#pages, (other) => other.first >= page.first),
        1,
      );
    }
  }

  /** Jobs in these statuses (undefined: in any) with a sequence below `below`, newest first; skips pages begun at `to` or later. */
  *newestFirst(below: number, to: number, statuses: readonly Status[] | undefined): Generator<StoredJob> {
    const numbers = (statuses ?? STATUSES).map((status) => STATE[status]);
    const pages = this.#pages;
    for (let at = firstIndex(pages, (page) => page.first >= below || page.since >= to) - 1; at >= 0; at--) {
      const page = pages[at]!;
      if (numbers.every((number) => page.counts[number] === 0)) continue;
      for (let slot = Math.min(below - page.first, page.jobs.length) - 1; slot >= 0; slot--) {
        const job = page.jobs[slot];
        if (job !== undefined && (statuses === undefined || statuses.includes(job.record.status))) yield job;
      }
    }
  }
}
