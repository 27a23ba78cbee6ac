import { MillraceError } from "../../../src/core/errors.ts";
import { printOfJob } from "../../history/print.ts";
import type { Stage } from "../deed.ts";

const TRIES = 400;
const PIECE = 40_000;

/** Enqueues large jobs until one is refused because the store is full. False when none is. */
export async function isRefused({ witness, recorder, random }: Stage): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    // By chance, so that no engine can make it small.
    const tag = Array.from({ length: PIECE }, () => String.fromCharCode(random.int(33, 122))).join("");
    const payload = { tag, steps: [["ok", 1]] };
    const begun = recorder.begin("enqueue", { queue: "main", key: null, print: printOfJob("mail", JSON.stringify(payload)) });
    try {
      const { id, created } = await witness.enqueue("mail", payload, { queue: "main", priority: "low" });
      begun.end("ok", { job: id, created });
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      begun.end("unknown", { code: error.code });
      if (error.code === "store_full") return true;
      if (error.code !== "store_unavailable") throw error;
    }
  }
  return false;
}
