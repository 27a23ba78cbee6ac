import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Clock } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { runScript } from "./nth-call.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-nth-call-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

const ENGINES: Readonly<Record<string, (clock: Clock) => Promise<Store>>> = {
  memory: (clock) => openStore("memory:", { clock }),
  // Nothing here tries a power cut, so nothing need be waited for on the disk.
  sqlite: (clock) => openStore(`sqlite:${join(folder, `${files++}.db`)}?synchronous=normal`, { clock }),
};

describe.each(Object.entries(ENGINES))("on %s", (_engine, open) => {
  test("without a fault the script does all it should", async () => {
    const { complaints, calls } = await runScript(open, null);
    expect(complaints).toEqual([]);
    expect(calls).toBeGreaterThan(80);
  });

  test.each(["before", "after"] as const)(
    "whichever call fails %s it took effect, everything comes to its end",
    { timeout: 120_000 },
    async (when) => {
      const verbs = new Set<string>();
      for (let call = 1; ; call++) {
        const { verb, complaints } = await runScript(open, { call, when });
        if (verb === null) break;
        verbs.add(verb);
        if (complaints.length > 0) throw new Error(`call ${call} (${verb}) failed ${when} it took effect:\n${complaints.join("\n")}`);
      }
      // Every kind of call had its turn.
      const expected =
        "insert exchange extend note change remove find list promote expired prune sweep queues configure rerank counters".split(" ");
      const ofSchedules = "schedules putSchedule removeSchedule dueSchedules tick register unregister workers".split(" ");
      const ofDurableWork = "keepSteps readSteps endSteps notices dropNotices".split(" ");
      const ofFlows = "readFlows changeFlows".split(" ");
      expect([...expected, ...ofSchedules, ...ofDurableWork, ...ofFlows].filter((verb) => !verbs.has(verb))).toEqual([]);
    },
  );
});
