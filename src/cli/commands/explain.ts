import type { Reason } from "../../core/explain.ts";
import { toReasonWire } from "../../http/wire/reason.ts";
import { defineCommand, required } from "../command.ts";
import { FACT_WIDTH } from "../output.ts";
import type { Style } from "../table.ts";

export const explain = defineCommand({
  about:
    "Explains why a job is not running: its queue is paused, no live worker handles it, a limit is reached, no slot is free, it is not due yet, its handler waits for a signal or another job, other jobs go first, or it has ended.",
  examples: [
    "millrace explain 0199f3c2-7b5e-7000-8000-0123456789ab",
    "millrace explain 0199f3c2-7b5e-7000-8000-0123456789ab --json | jq -r '.reasons[].code'",
  ],
  arguments: { id: required("id", "the id of a job") },
  async run({ id }, session) {
    const { reasons } = await session.withClient((client) => client.explain(id));
    const { output } = session;
    if (output.json) return output.value({ reasons: reasons.map(toReasonWire) });
    const width = Math.max(FACT_WIDTH, ...reasons.map(({ code }) => code.length + 1));
    for (const { code, message } of reasons) output.fact(code.replaceAll("_", " "), message, STYLES[code], width);
  },
});

/** Reasons that need action stand out. */
const STYLES: Readonly<Partial<Record<Reason["code"], Style>>> = {
  paused: "yellow",
  no_worker: "red",
  key_held: "yellow",
  limit_running: "yellow",
  limit_rate: "yellow",
  no_free_slot: "yellow",
  overdue: "red",
  running: "green",
};
