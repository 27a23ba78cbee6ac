import type { FlowMemberInput } from "../../src/client/client.ts";
import { ALL_OTHERS, ON_FAILURE, type OnFailure } from "../../src/core/flow.ts";
import type { Script, Step } from "./handler.ts";
import { TYPES } from "./plan.ts";
import type { Random } from "./random.ts";

/** What is told to the handler of a member, so that it can look whether it is its turn. */
export interface MemberScript {
  readonly after: readonly string[] | typeof ALL_OTHERS;
  readonly onFailure: OnFailure;
  /** Members that it adds to its flow, in every attempt. */
  readonly adds?: readonly FlowMemberInput[];
}

/** What flows may have. */
export interface FlowWishes {
  readonly queues: readonly string[];
  /** How many members. Those that are added come on top. */
  readonly least: number;
  readonly most: number;
  /** The longest that a member works. */
  readonly workMs: number;
  /** How likely a member waits for its time when it has opened. */
  readonly delays: number;
  /** How likely the first attempt of a member fails, and whether it is then dead. */
  readonly failures: number;
}

const LONGEST_DELAY_MS = 3_000;
/** Of those before it, a member waits for so many. */
const SHARES = [0, 0.3, 0.6] as const;

/** A flow by chance: a graph, in which each member waits for some of those before it. */
export function planFlow(random: Random, wishes: FlowWishes, tag: string): FlowMemberInput[] {
  return planMembers(random, wishes, tag, { prefix: "m", count: random.int(wishes.least, wishes.most), before: [] }, true);
}

interface Place {
  readonly prefix: string;
  readonly count: number;
  /** Members that are there already. */
  readonly before: readonly string[];
}

function planMembers(random: Random, wishes: FlowWishes, tag: string, place: Place, mayAdd: boolean): FlowMemberInput[] {
  const names = [...place.before];
  return Array.from({ length: place.count }, (_, index) => {
    const name = `${place.prefix}${index}`;
    const after = random.chance(0.08) ? ALL_OTHERS : random.some(names, random.pick(SHARES));
    if (after !== ALL_OTHERS) names.push(name);
    const onFailure = random.pick(["cancel", ...ON_FAILURE] as const);
    const isAdding = mayAdd && random.chance(0.08);
    // What it adds can wait for it: it has not ended yet.
    const grown = { prefix: `${name}+`, count: random.int(1, 2), before: after === ALL_OTHERS ? [] : [name] };
    const adds = isAdding ? { adds: planMembers(random.fork(name), wishes, tag, grown, false) } : {};
    const payload: Script = { tag: `${name} of ${tag}`, steps: stepsFor(random, wishes), member: { after, onFailure, ...adds } };
    return {
      name,
      after,
      onFailure,
      type: random.pick(TYPES),
      payload,
      queue: random.pick(wishes.queues),
      maxRetries: random.pick([0, 0, 2]),
      retryDelay: 200,
      ...(random.chance(wishes.delays) ? { delay: random.int(1, LONGEST_DELAY_MS) } : {}),
    };
  });
}

function stepsFor(random: Random, { workMs, failures }: FlowWishes): Step[] {
  const steps: Step[] = random.chance(failures) ? [[random.pick(["throw", "discard"] as const), random.int(0, workMs)]] : [];
  return [...steps, ["ok", random.int(0, workMs)]];
}
