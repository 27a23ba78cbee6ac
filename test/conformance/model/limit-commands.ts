import fc from "fast-check";
import { type LimitOptions, type OneKeyLimitOptions, readLimits, readOneKeyLimits } from "../../../src/core/limits.ts";
import { same } from "./compare.ts";
import type { Said } from "./limit-rules.ts";
import { happened, LIMIT_KEYS } from "./state.ts";
import { command, type Command } from "./step.ts";

/** What a settlement says of limits: mostly nothing. */
export const said: fc.Arbitrary<Said> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constantFrom<Said>({ unstarted: true }, { spend: 3 }, { spend: 1, unstarted: true }) },
  { weight: 1, arbitrary: fc.constantFrom<Said>({ holdMs: 500 }, { holdMs: 5_000 }) },
);

const limits = fc.constantFrom<LimitOptions | null>(
  null,
  { running: 1 },
  { running: 3 },
  { rate: "1/s" },
  { rate: "5/s", burst: 4 },
  { perKey: { running: 1 } },
  { perKey: { running: 2, waiting: 3 } },
  { perKey: { rate: "1/s" } },
  { perKey: { rate: "2/5s", burst: 3 } },
  { running: 4, perKey: { running: 1, rate: "10/s" } },
  { running: 5, rate: "10/s", burst: 3, perKey: { running: 2, rate: "1/s", burst: 2, waiting: 5 } },
);

const setLimits = command("set limits", fc.record({ queue: fc.constantFrom("a", "b"), limits }), async (input, model, world) => {
  const change = { limits: readLimits(input.limits) };
  await world.store.configure(input.queue, change);
  model.reference.configure(input.queue, change);
  happened("set limits");
});

const own = fc.constantFrom<OneKeyLimitOptions | null>(
  null,
  { running: 1 },
  { running: null, weight: 3 },
  { rate: "2/s" },
  { rate: null },
  { weight: 10 },
  { running: 2, waiting: 2 },
);

const setKey = command(
  "set limits of a key",
  fc.record({ queue: fc.constantFrom("a", "b"), key: fc.constantFrom(...LIMIT_KEYS), own }),
  async ({ queue, key, own }, model, world) => {
    const stored = own === null ? null : readOneKeyLimits(own, key);
    await world.store.setKeyLimits(queue, key, stored);
    model.reference.setKeyLimits(queue, key, stored);
    happened("set limits of a key");
  },
);

const setWeight = command(
  "set the weight of jobs without a key",
  fc.record({ queue: fc.constantFrom("a", "b"), weight: fc.constantFrom(1, 2, null) }),
  async ({ queue, weight }, model, world) => {
    const stored = weight === null ? null : readOneKeyLimits({ weight }, null);
    await world.store.setKeyLimits(queue, null, stored);
    model.reference.setKeyLimits(queue, null, stored);
  },
);

const list = command("list limits", fc.constantFrom("a", "b"), async (queue, model, world) => {
  const found = [];
  for (let after: string | null | undefined; ;) {
    const page = await world.store.keyLimits(queue, after, 2);
    found.push(...page);
    if (page.length < 2) break;
    after = page.at(-1)!.key;
  }
  if (found.length > 0) happened("list limits");
  same(found, model.reference.rules(queue).own(), `limits of keys of ${queue}`);
});

export const limitCommands: Command[] = [setLimits, setLimits, setKey, setWeight, list];
