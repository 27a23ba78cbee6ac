/** What tests of durable work say: what a handler keeps, waits for and calls, and how somebody else ends it. */
import { expect } from "vitest";
import type { NewJob, Status } from "../../../src/core/job.ts";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import { endNotice, type NewStep, type Notice, type StepEnd, type StepRecord } from "../../../src/core/steps.ts";
import type { Lease, LeaseAnswer, LeasedRecord, Settlement, StepEndAnswer, StepsPage, StoredNotice } from "../../../src/store/store.ts";
import { type Held, settlementOf, type Wishes, type World } from "../world.ts";

// ── What a handler says ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const MIB: number = 1024 * 1024;

/** A JSON string that has so many bytes. */
export const textOf = (bytes: number): string => `"${"x".repeat(bytes - 2)}"`;

/** The result of a function. */
export const result = (name: string, value: string | null = "1", detail: string | null = null): NewStep => {
  return { name, kind: "step", state: "done", value, untilMs: null, detail };
};

export const sleep = (name: string, untilMs: number): NewStep => {
  return { name, kind: "sleep", state: "open", value: null, untilMs, detail: null };
};

/** A wait for the signal of this name; without a time it waits for good. */
export const wait = (name: string, untilMs: number | null = null): NewStep => {
  return { name, kind: "wait", state: "open", value: null, untilMs, detail: null };
};

export const call = (name: string): NewStep => ({ name, kind: "call", state: "open", value: null, untilMs: null, detail: '{"call":{}}' });

export async function keep(world: World, { id, fence }: Lease, ...steps: NewStep[]): Promise<LeaseAnswer | "full"> {
  const answers = await world.store.keepSteps([{ id, fence, steps }]);
  expect(answers).toHaveLength(1);
  return answers[0]!;
}

/** The settlement of an attempt that is suspended at these waits. */
export function suspension(held: Held, waits: readonly NewStep[], calls: readonly NewJob[] = []): Settlement {
  return { ...settlementOf(held, { kind: "suspend", waits, calls: [] }), waits, calls };
}

export async function suspend(world: World, held: Held, ...waits: NewStep[]): Promise<LeaseAnswer> {
  return send(world, suspension(held, waits));
}

export async function send(world: World, settlement: Settlement): Promise<LeaseAnswer> {
  const { settled } = await world.store.exchange([settlement], []);
  expect(settled).toHaveLength(1);
  return settled[0]!;
}

/** A job that is suspended at these waits. */
export async function suspended(world: World, waits: readonly NewStep[], wishes: Wishes = {}): Promise<LeasedRecord> {
  const lease = await world.running(wishes);
  expect(await suspend(world, lease, ...waits)).toBe("ok");
  return lease;
}

// ── What others say ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Who has not ended takes signals. */
export const LIVING: readonly Status[] = ["scheduled", "pending", "running", "retrying", "blocked"];

export function signalTo(id: string, name: string, wishes: Partial<StepEnd> = {}): StepEnd {
  return { id, name, kind: "wait", state: "done", value: '"yes"', by: "signal-1", life: null, from: LIVING, ...wishes };
}

export async function signal(world: World, id: string, name: string, wishes: Partial<StepEnd> = {}): Promise<StepEndAnswer> {
  const answers = await world.store.endSteps([signalTo(id, name, wishes)]);
  expect(answers).toHaveLength(1);
  return answers[0]!;
}

/** The answer to a signal that was taken. */
export const taken = (woke: boolean, wishes: Wishes = {}): StepEndAnswer => {
  return { kind: "ok", woke, type: wishes.type ?? "task", queue: wishes.queue ?? "default" };
};

// ── What there is ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function read(world: World, id: string, fence: number | null = null, after: string | null = null): Promise<StepsPage> {
  const page = await world.store.readSteps(id, fence, after);
  expect(page, `steps of ${id}`).not.toBeNull();
  return page!;
}

/** All steps of a job, page by page. */
export async function stepsOf(world: World, id: string): Promise<StepRecord[]> {
  const steps: StepRecord[] = [];
  let after: string | null = null;
  do {
    const page: StepsPage = await read(world, id, null, after);
    steps.push(...page.steps);
    after = page.cursor;
  } while (after !== null);
  return steps;
}

/** One step of a job, which must be there. */
export async function stepOf(world: World, id: string, name: string): Promise<StepRecord> {
  const step = (await stepsOf(world, id)).find((one) => one.name === name);
  expect(step, `step ${name} of ${id}`).toBeDefined();
  return step!;
}

export async function noticesOf(world: World): Promise<Notice[]> {
  return (await world.store.notices(1_000)).map(({ notice }: StoredNotice) => notice);
}

// ── Calls ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A job that a step of another one calls. */
export function childOf(world: World, parent: Lease, step: string, wishes: Wishes = {}, life = 1): NewJob {
  return { ...world.job(wishes), parent: { id: parent.id, step, life } };
}

export const DONE: Outcome = { kind: "completed", result: "5", runMs: 1 };

/** A settlement that tells the parent how the child ended. */
export function told(child: LeasedRecord, outcome: Outcome = DONE, ifExpired = false): Settlement {
  const { id, fence, parent } = child;
  return { ...settlementOf(child, outcome, ifExpired), notice: endNotice(parent!, id, fence, { state: "done", value: "5" }) };
}

/** Sends to each parent what its children said, as upkeep does. */
export async function deliver(world: World): Promise<void> {
  const stored = await world.store.notices(1_000);
  const ends = stored.flatMap(({ notice }) => (notice.kind === "end" ? [notice.end] : []));
  await world.store.endSteps(ends);
  await world.store.dropNotices(stored.map(({ key }) => key));
}
