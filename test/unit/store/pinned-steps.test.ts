import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { baseline, STEPS, STEPS_TO_BASELINE } from "../../../src/store/postgres/tables.ts";
import { STEPS as SQLITE_STEPS } from "../../../src/store/sqlite/migrations.ts";

/** The steps of an engine's tables, and the digests that they were released with. A new step gets a new line; no line ever changes. */
const ENGINES: Record<string, { steps: readonly string[]; digests: readonly string[] }> = {
  PostgreSQL: {
    steps: [baseline("s"), ...STEPS_TO_BASELINE.map((step) => step("s")), ...STEPS.map(({ sql }) => sql("s"))],
    digests: [
      "61cecc6dd24313b2",
      "d6b73bb1cc1e2c64",
      "e3b0c44298fc1c14",
      "76638f92a50d51a7",
      "e3b0c44298fc1c14",
      "306e8ce301297a62",
      "dcaeb0f10e0af4cc",
      "e33a0b5a2a8a8554",
      "c826779a747c2b54",
      "aa10185aa9356e3d",
      "5b736f6173d22e56",
      "35a49a853e073da3",
      "a884f43f3f537e21",
      "8ff5ae999907ce07",
      "210a89d0755a8657",
      "492597b4a1d20a29",
      "7c0d5c5a58004586",
    ],
  },
  SQLite: {
    steps: SQLITE_STEPS,
    digests: [
      "98466dde3a888277",
      "4d58bf04419dc660",
      "d4db3c7c19b8cf9d",
      "6441217fb7bda9f3",
      "1d69d455a4387b04",
      "c651aa268c56b0b0",
      "29890e33ceb0f4c2",
      "aa0eb4719211ebe3",
      "04a7fff83a0695f5",
      "48685776b4e81365",
      "22ee3b4981401bc8",
      "b2bf5dc85e021d95",
      "3b30053d7956272b",
      "c77e2e6a959fc71d",
      "78fa1cf8e7081491",
    ],
  },
};

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

test.each(Object.entries(ENGINES))("no step of the tables of %s was edited", (_engine, { steps, digests }) => {
  const found = steps.map(digestOf);
  digests.forEach((digest, index) => {
    expect(found[index], `step ${index} was edited. Stores that have run it will not run it again: add a step instead`).toBe(digest);
  });
  expect(found, "a new step has no digest here: add a line for it").toEqual(digests);
});
