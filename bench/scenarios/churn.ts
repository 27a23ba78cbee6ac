import { DAY_MS } from "../../src/core/time-units.ts";
import { openStore } from "../../src/store/open-store.ts";
import { runStretch } from "../measure/drain.ts";
import { openMillrace } from "../millrace-queue.ts";
import { ENGINES_ON_DISK } from "./growth.ts";
import { inWords } from "./stored-many.ts";
import type { Scenario } from "./scenario.ts";

const MOST_AT_ONCE = 50_000;
const LEAST_TIMES = 20;
const RETENTION = { queue: "default", ageMs: 60 * DAY_MS, count: 1000, keepAtLeastMs: 0 };
const REMOVED_AT_ONCE = 200;
/** A page or two more is no growth. */
const SMALL_BYTES = 1024 * 1024;

/** Jobs that come, run and are removed must leave no table and no index growing: after the first quarter, all stay as large as they are. */
export const churn: Scenario = {
  name: "churn",
  isOnPage: true,
  isLong: true,
  async measure(session) {
    if (!ENGINES_ON_DISK.includes(session.engine.name)) return [];
    const { turnovers } = session.extent;
    const atOnce = Math.min(MOST_AT_ONCE, Math.ceil(turnovers / LEAST_TIMES));
    const numbers = [
      { what: `store after ${inWords(turnovers)} jobs came and went`, unit: "bytes" },
      { what: "the table or index that grew most in the last three quarters", unit: "×" },
    ] as const;
    const ours = session.ofTrees((tree) =>
      session.onFresh(
        (place) => openMillrace(tree, place),
        async (queue, place) => {
          await using stack = new AsyncDisposableStack();
          const store = stack.adopt(await openStore(place.url), (store) => store.close());
          const turnOver = async (jobs: number): Promise<ReadonlyMap<string, number>> => {
            for (let left = jobs; left > 0; left -= atOnce) {
              await runStretch(queue, { slots: 1000, handlerMs: 0 }, Math.min(left, atOnce));
              while ((await store.prune([RETENTION], REMOVED_AT_ONCE)).removed >= REMOVED_AT_ONCE);
            }
            return place.sizes();
          };
          const early = await turnOver(Math.ceil(turnovers / 4));
          const late = await turnOver(Math.floor((turnovers * 3) / 4));
          const growths = [...late]
            .filter(([, bytes]) => bytes > SMALL_BYTES)
            .map(([name, bytes]) => bytes / (early.get(name) ?? SMALL_BYTES));
          return [late.values().reduce((sum, bytes) => sum + bytes, 0), Math.max(1, ...growths)];
        },
      ),
    );
    return session.contest(numbers, ours, { rounds: 1, longestRunMs: 24 * 60 * 60 * 1000 });
  },
};
