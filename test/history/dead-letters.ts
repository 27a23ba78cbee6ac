import type { Bench, Family } from "./family.ts";
import { happened, isRepeat, type JobStory, linesOf, mayHaveHappened, type Op } from "./story.ts";

/** I14: a job that entered the dead letters is there, or was retried or purged, and each retry took out one that was there. */
export const deadLetters: Family = {
  covers: ["I14"],
  begin: (bench) => ({
    job(story) {
      if (bench.history.dumped !== null) checkConservation(bench, story);
    },
  }),
};

function checkConservation({ report }: Bench, story: JobStory): void {
  const entries = story.settles.filter((settle) => settle.ask.to === "dead" && mayHaveHappened(settle) && !isRepeat(settle, story.settles));
  const exits: (Op<"retry"> | Op<"remove">)[] = [...story.retries, ...story.removes].filter(
    (change) => change.phase === "unknown" || change.answer.was === "dead",
  );
  const present = story.stored.filter(({ status }) => status === "dead").length;
  const sureEntries = entries.filter(happened).length;
  const sureExits = exits.filter(happened).length;
  const lines = [...entries.flatMap(linesOf), ...exits.flatMap(linesOf), story.stored[0]?.line];
  if (sureEntries > present + exits.length) {
    report("I14", story.id, `died ${sureEntries} times, was taken out ${exits.length} times at most, and is not there`, lines);
  }
  if (present + sureExits > entries.length) {
    report("I14", story.id, `died ${entries.length} times at most, and was found dead ${present + sureExits} times`, lines);
  }
}
