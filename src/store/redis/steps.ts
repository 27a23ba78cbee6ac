import { OPEN } from "../../core/lifecycle.ts";
import type { NewStep, StepEnd, StepRecord } from "../../core/steps.ts";
import { tenBitsOf } from "../../lib/id.ts";
import { STEP_KIND, STEP_STATE, statusOf, stepKindOf, stepStateOf } from "../numbers.ts";
import type { Lease, LeaseAnswer, StepEndAnswer, StepsPage } from "../store.ts";
import { type LaneNames, listOf, numberOf, readLanes, type Reply, statesOf, textOf } from "./codec.ts";
import { byPartition, byReachedPartition, type Context } from "./context.ts";
import { shortId } from "./ids.ts";
import { STEP, STEP_HAS } from "./layout.ts";
import { encodeNumber, encodeShape } from "./shape.ts";
import { END_STEPS, KEEP_STEPS, READ_STEPS } from "./statements/steps.ts";

/** A step as scripts read it: see ARGS_OF_STEP. */
export function encodeStep({ name, kind, state, value, untilMs, detail }: NewStep): string[] {
  const has = (value === null ? 0 : STEP_HAS.value) + (untilMs === null ? 0 : STEP_HAS.dueAt) + (detail === null ? 0 : STEP_HAS.detail);
  return [name, String(STEP_KIND[kind]), String(STEP_STATE[state]), String(has), encodeNumber(untilMs), detail ?? "", value ?? ""];
}

const KEPT: Readonly<Record<string, LeaseAnswer | "full">> = { o: "ok", s: "stale", c: "cancelled", f: "full" };

/** One whose partition cannot be reached is `locked`: whoever asks again for it alone waits for it, and others do not. */
export function keepSteps(
  context: Context,
  keeps: readonly (Lease & { readonly steps: readonly NewStep[] })[],
): Promise<(LeaseAnswer | "full")[]> {
  const { session, keys } = context;
  return byReachedPartition<(typeof keeps)[number], LeaseAnswer | "full">(
    context,
    "keep steps",
    keeps,
    ({ id }) => tenBitsOf(id),
    async (partition, some) => {
      const args = some.flatMap(({ id, fence, steps }) => [shortId(id), String(fence), String(steps.length), ...steps.flatMap(encodeStep)]);
      return Array.from(textOf(await session.run(KEEP_STEPS, keys.partition(partition), args)), (letter) => KEPT[letter]!);
    },
    "locked",
  );
}

export async function readSteps(
  { session, keys }: Context,
  id: string,
  fence: number | null,
  after: string | null,
): Promise<StepsPage | null> {
  const args = [shortId(id), encodeNumber(fence), after === null ? "" : `1${after}`];
  const reply = await session.run(READ_STEPS, keys.partition(tenBitsOf(id)), args);
  if (reply === null) return null;
  const [now, life, list, hasMore] = listOf(reply);
  const parts = listOf(list) as Buffer[];
  const steps = Array.from({ length: parts.length / 3 }, (_, at) => readStep(parts[3 * at]!, parts[3 * at + 1]!, parts[3 * at + 2]!));
  return { now: numberOf(now), life: numberOf(life), steps, cursor: textOf(hasMore) === "1" ? steps.at(-1)!.name : null };
}

function readStep(name: Buffer, head: Buffer, value: Buffer): StepRecord {
  const { at } = STEP;
  const has = head[at.has]!;
  const detailAt = STEP.bytes + head.readUInt16BE(at.length);
  const isOpen = head[at.state] === STEP_STATE.open;
  return {
    name: textOf(name),
    kind: stepKindOf(head[at.kind]!),
    state: stepStateOf(head[at.state]!),
    value: (has & STEP_HAS.value) === 0 ? null : textOf(value),
    until: (has & STEP_HAS.dueAt) === 0 ? null : head.readUIntBE(at.dueAt, 6),
    startedAt: head.readUIntBE(at.startedAt, 6),
    endedAt: isOpen ? null : head.readUIntBE(at.endedAt, 6),
    attempt: head.readUInt32BE(at.attempt),
    by: (has & STEP_HAS.by) === 0 ? null : textOf(head.subarray(STEP.bytes, detailAt)),
    detail: (has & STEP_HAS.detail) === 0 ? null : textOf(head.subarray(detailAt)),
  };
}

const WAKE = encodeShape(OPEN.transition, null, false, false, false);

/** The end of a called job whose parent cannot be reached is `locked`: its notice comes again. Who sends a signal waits for the answer. */
export function endSteps(context: Context, ends: readonly StepEnd[]): Promise<StepEndAnswer[]> {
  const { session, keys, feed } = context;
  const run = async (partition: number, some: readonly StepEnd[]): Promise<StepEndAnswer[]> => {
    const args = some.flatMap(({ id, name, kind, state, value, by, life, from }) => [
      shortId(id),
      statesOf(from),
      name,
      String(STEP_KIND[kind]),
      String(STEP_STATE[state]),
      value === null ? "" : "1",
      value ?? "",
      by,
      life === null ? "" : String(life),
    ]);
    const [answers, lanes, hints] = listOf(await session.run(END_STEPS, keys.partition(partition), [...WAKE, ...args]));
    feed.sendHints(hints);
    const names = readLanes(lanes);
    return listOf(answers).map((answer) => readEnd(answer, names));
  };
  const partitionOfEnd = ({ id }: StepEnd): number => tenBitsOf(id);
  if (ends.some(({ life }) => life === null)) return byPartition(ends, partitionOfEnd, run);
  return byReachedPartition(context, "end steps", ends, partitionOfEnd, run, { kind: "locked" });
}

function readEnd(answer: Reply, lanes: LaneNames): StepEndAnswer {
  const [letter, number] = listOf(answer);
  switch (textOf(letter)) {
    case "o":
    case "W":
      return { kind: "ok", woke: textOf(letter) === "W", ...lanes.get(numberOf(number))! };
    case "l":
      return { kind: "late", state: stepStateOf(numberOf(number)) };
    case "r":
      return { kind: "refused", status: statusOf(numberOf(number)) };
    case "f":
      return { kind: "full" };
    default:
      return { kind: "missing" };
  }
}
