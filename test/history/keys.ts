import { TERMINAL } from "../../src/core/job.ts";
import type { Bench, Family } from "./family.ts";
import { happened, type JobStory, lastLine, linesOf, mayHaveHappened, type Sending } from "./story.ts";

/** What is needed of a job that was sent with a key. */
interface KeyedJob {
  readonly id: string;
  readonly sending: Sending;
  /** Since when, by lines and by the engine's time, its key may have been free: it was removed, or ended and its time has passed. */
  readonly freeFrom: { readonly line: number; readonly engine: number }[];
  readonly holdsKeyNow: boolean;
}

/** I12: two jobs with one living key cannot exist, and every answer about a key tells of a job that has it. */
export const keys: Family = {
  covers: ["I12"],
  begin(bench) {
    const byKey = new Map<string, KeyedJob[]>();
    const note = (story: JobStory): void => {
      for (const sending of story.sendings) {
        const { key, queue } = sending.sent;
        if (key === null) continue;
        const name = JSON.stringify([queue, key]);
        const jobs = byKey.get(name) ?? [];
        byKey.set(name, jobs);
        jobs.push({ id: story.id, sending, freeFrom: freedBy(bench, story), holdsKeyNow: holdsKey(story, key) });
      }
    };
    return {
      job: note,
      flow: note,
      end() {
        for (const jobs of byKey.values()) {
          checkAnswers(bench, jobs);
          checkPairs(bench, jobs);
          checkRows(bench, jobs);
        }
      },
    };
  },
};

function freedBy({ history, options }: Bench, story: JobStory): KeyedJob["freeFrom"] {
  const ttl = story.sendings[0]!.sent.keyTtlMs;
  const moves = story.flowMoves.filter(({ ask }) => ask.to === "completed" || ask.to === "cancelled");
  const ends = [...story.settles.filter(({ ask }) => ask.to === "completed"), ...story.cancels, ...moves].filter(mayHaveHappened);
  const byTime = ends.map(({ invoked }) => {
    const ended = history.clock.at(invoked.at);
    return { line: invoked.line, engine: ended === null ? -Infinity : ended + ttl - options.epsilonMs };
  });
  const byHand = story.removes.filter(mayHaveHappened).map(({ invoked }) => ({ line: invoked.line, engine: -Infinity }));
  return [...byTime, ...byHand];
}

function holdsKey({ stored }: JobStory, key: string): boolean {
  const [job] = stored;
  return (
    job !== undefined && job.key === key && !(TERMINAL.includes(job.status) && (job.status === "completed" || job.status === "cancelled"))
  );
}

function checkAnswers({ report }: Bench, jobs: readonly KeyedJob[]): void {
  for (const { id, sending } of jobs) {
    const { kind, holder } = sending.answer;
    if (holder === undefined) continue;
    const held = jobs.find((job) => job.id === holder && mayHaveHappened(job.sending));
    if (held === undefined) {
      report("I12", id, `was told that job ${holder} has its key, which nobody stored with it`, linesOf(sending));
      continue;
    }
    const isSame = held.sending.sent.print === sending.sent.print;
    const lines = [...linesOf(held.sending), ...linesOf(sending)];
    if (kind === "conflict" && isSame) report("I12", id, "was refused as a conflict, though it is the same request", lines);
    if (kind !== "conflict" && !isSame) report("I12", id, `was answered with job ${holder}, which is another request`, lines);
  }
}

/** Of two that were created under one key, the key of the first must have been free when the second came. */
function checkPairs({ report }: Bench, jobs: readonly KeyedJob[]): void {
  const created = jobs.filter(({ sending }) => happened(sending));
  created.sort(
    (a, b) => (a.sending.answer.createdAt ?? 0) - (b.sending.answer.createdAt ?? 0) || a.sending.invoked.line - b.sending.invoked.line,
  );
  for (const [index, second] of created.entries()) {
    for (const first of created.slice(0, index)) {
      if (first.id === second.id) continue;
      const createdAt = second.sending.answer.createdAt ?? Infinity;
      const wasFree = first.freeFrom.some(({ line, engine }) => line < lastLine(second.sending) && engine <= createdAt);
      if (!wasFree)
        report("I12", second.id, `was created under a key that job ${first.id} had`, [
          ...linesOf(first.sending),
          ...linesOf(second.sending),
        ]);
    }
  }
}

function checkRows({ report }: Bench, jobs: readonly KeyedJob[]): void {
  const [first, second] = new Map(jobs.filter(({ holdsKeyNow }) => holdsKeyNow).map((job) => [job.id, job])).values();
  if (first === undefined || second === undefined) return;
  report("I12", second.id, `is stored with the living key of job ${first.id}`, [...linesOf(first.sending), ...linesOf(second.sending)]);
}
