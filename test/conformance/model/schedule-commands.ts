import fc from "fast-check";
import type { ScheduleSpec } from "../../../src/core/schedule-record.ts";
import type { World } from "../world.ts";
import { same } from "./compare.ts";
import { command, type Command } from "./step.ts";
import { happened, type Model } from "./state.ts";

const EVERY_MS = 5_000;

function specOf(name: string, paused: boolean): ScheduleSpec {
  const job = {
    type: "t0",
    queue: "a",
    priority: 0,
    payload: "1",
    maxRetries: 1,
    retryDelayMs: 0,
    timeoutMs: 0,
    webhookUrl: null,
    tags: [],
    meta: null,
  };
  return { name, timing: { kind: "every", everyMs: EVERY_MS }, job, catchUp: "one", overlap: "allow", paused };
}

const name = fc.constantFrom("s1", "s2");

/** The stored schedule must be the reference's; its version is the store's own, but never an old one. */
async function look(model: Model, world: World, of: string): Promise<number | null> {
  const [found] = (await world.store.schedules([of])).schedules;
  const expected = model.reference.schedules.get(of);
  if (expected === undefined) {
    same(found, undefined, `schedule ${of}`);
    return null;
  }
  const { version, nextTick, lastTick, lastJobId, createdAt, updatedAt: _updatedAt, ...spec } = found!;
  same({ spec, nextTick, lastTick, lastJobId, createdAt }, expected, `schedule ${of}`);
  return version;
}

const put = command(
  "put schedule",
  fc.record({
    name,
    paused: fc.constantFrom(false, false, true),
    inMs: fc.constantFrom(100, 5_000, null),
    over: fc.constantFrom("seen", "seen", "none", "old"),
  }),
  async ({ name, paused, inMs, over }, model, world) => {
    const version = await look(model, world, name);
    const old = model.versions.get(name) ?? [];
    const expected = over === "seen" ? version : over === "none" ? null : (old[0] ?? 999);
    const spec = specOf(name, paused);
    const nextTick = inMs === null ? null : model.reference.now + inMs;
    const allowed = expected === version;
    same(await world.store.putSchedule(spec, nextTick, expected), allowed, "the answer to put schedule");
    happened(allowed ? "put schedule" : "put schedule refused");
    if (!allowed) return;
    model.reference.putSchedule(spec, nextTick);
    const next = (await look(model, world, name))!;
    same(old.includes(next), false, `version ${next} of ${name} is new`);
    model.versions.set(name, [...old, next]);
  },
);

const remove = command("remove schedule", name, async (name, model, world) => {
  same(await world.store.removeSchedule(name), model.reference.schedules.delete(name), "the answer to remove schedule");
  await look(model, world, name);
});

const tick = command(
  "tick",
  fc.record({
    withJob: fc.constantFrom(true, true, false),
    name,
    shift: fc.constantFrom(0, 0, -EVERY_MS),
    stale: fc.constantFrom(false, false, false, true),
  }),
  async ({ withJob, name, shift, stale }, model, world) => {
    const version = await look(model, world, name);
    const tick = (model.reference.schedules.get(name)?.nextTick ?? model.reference.now) + shift;
    const nextTick = tick + EVERY_MS;
    const job = withJob ? world.job({ queue: "a", type: "t0", payload: 1 }) : null;
    const isCurrent = version !== null && !stale;
    const expected = model.reference.tick(name, isCurrent, tick, nextTick, job);
    const given = isCurrent ? version : (version ?? 0) + 1_000_000;
    same(await world.store.tick([{ name, version: given, tick, nextTick, job }]), [expected], "the answer to tick");
    happened(`tick ${expected}`);
    const next = await look(model, world, name);
    if (next !== null && next !== version) model.versions.set(name, [...(model.versions.get(name) ?? []), next]);
    if (expected !== "ticked" || job === null) return;
    same(await world.store.tick([{ name, version: given, tick, nextTick, job }]), ["ticked"], "the answer to the same tick again");
  },
);

const due = command("due schedules", fc.constant(null), async (_, model, world) => {
  const { names, nextInMs } = model.reference.dueSchedules();
  const found = await world.store.dueSchedules(100);
  same(found.schedules.map(({ name }) => name).sort(), names, "the due schedules");
  same(found.nextInMs, nextInMs, "the time until the next tick");
});

export const scheduleCommands: Command[] = [put, put, remove, tick, tick, due];
