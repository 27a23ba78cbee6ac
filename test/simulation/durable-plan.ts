import type { DurableWork, Part } from "./durable.ts";
import type { Step } from "./handler.ts";
import { TYPES } from "./plan.ts";
import type { Random } from "./random.ts";

const STEPS = 10;
const CALLS = 3;
/** The signal that durable work waits for. */
export const SIGNAL = "approval";

/** The signal that some called jobs wait for. Nobody sends it before all is well again. */
export const RELEASE = "release";

/** What durable work can call, and how fast time passes in them: waits and sleeps take that part of their time. */
export interface DurableWishes {
  readonly queues: readonly string[];
  readonly pace: number;
}

/** Ten steps with two sleeps, a wait and three calls at once among them, in any order. Some steps run beside a sleep. */
export function planDurable(random: Random, wishes: DurableWishes, tag: string): DurableWork {
  const paced = (ms: number): number => Math.ceil(ms * wishes.pace);
  const pacedOrNull = (ms: number | null): number | null => (ms === null ? null : paced(ms));
  const parts: Part[] = Array.from({ length: STEPS }, (_, number): Part => {
    const failsUpTo = random.chance(0.1) ? random.int(1, 8) : 0;
    return {
      do: "step",
      name: `step ${number}`,
      ms: random.chance(0.1) ? paced(random.int(500, 4_000)) : random.int(0, 60),
      ...(failsUpTo === 0 ? {} : { failsUpTo }),
    };
  });
  const put = (part: Part): void => void parts.splice(random.int(0, parts.length), 0, part);
  for (const name of ["short", "long"]) {
    const nap: Part = { do: "sleep", name, ms: paced(random.pick([20, 400, 2_500])) };
    put(random.chance(0.3) ? { do: "together", parts: [nap, { do: "step", name: `beside ${name}`, ms: paced(random.int(0, 900)) }] } : nap);
  }
  const wait: Part = { do: "wait", name: SIGNAL, timeoutMs: pacedOrNull(random.pick([null, 300, 2_000, 6_000])) };
  put(
    random.chance(0.3)
      ? { do: "together", parts: [wait, { do: "sleep", name: "meanwhile", ms: paced(random.pick([1_000, 5_000])) }] }
      : wait,
  );
  put({ do: "together", parts: Array.from({ length: CALLS }, (_, number) => planCall(random, wishes, tag, number)) });
  return { parts, isTolerant: random.chance(0.5) };
}

/** Half of the called jobs do durable work themselves. */
function planCall(random: Random, { queues, pace }: DurableWishes, tag: string, number: number): Part {
  const name = `call ${number}`;
  const steps: Step[] = [...(random.chance(0.4) ? [["throw", random.int(0, 50)] as const] : []), ["ok", random.pick([0, 50, 400])]];
  const durable: DurableWork = {
    parts: [
      { do: "step", name: "first", ms: random.int(0, 100) },
      { do: "sleep", name: "nap", ms: Math.ceil(random.pick([50, 1_000]) * pace) },
      ...(random.chance(0.4) ? [{ do: "wait", name: RELEASE, timeoutMs: null } as const] : []),
      { do: "step", name: "last", ms: random.int(0, 100) },
    ],
    isTolerant: false,
  };
  return {
    do: "call",
    call: {
      step: name,
      type: random.pick(TYPES),
      payload: { tag: `${name} of ${tag}`, steps, ...(random.chance(0.5) ? { durable } : {}) },
      options: {
        queue: random.pick(queues),
        maxRetries: random.pick([0, 0, 2]),
        retryDelay: 200,
        ...(random.chance(0.25) ? { delay: Math.ceil(random.int(1_000, 20_000) * pace) } : {}),
      },
    },
  };
}
