/** What the worker of a soak runs: jobs that log, fail, take their time and return much. */
import { setTimeout as pause } from "node:timers/promises";
import { Discard } from "../../src/core/control-errors.ts";
import type { Handlers } from "../../src/client/client.ts";

const MANY_BYTES = 20_000;

const handlers: Handlers = {
  quick: () => ({ ok: true }),
  slow: (_payload, ctx) => pause(200, { ok: true }, { signal: ctx.signal }),
  chatty: (_payload, ctx) => {
    for (let line = 0; line < 5; line++) ctx.log(`line ${line}`);
    ctx.progress(50, "half way");
    return { lines: 5 };
  },
  large: () => ({ text: "x".repeat(MANY_BYTES) }),
  failing: (_payload, ctx) => {
    if (ctx.job.attempt < 2) throw new Error("the first attempt fails");
    return { ok: true };
  },
  dying: () => {
    throw new Discard("this job is not worth a retry");
  },
};

export default handlers;
