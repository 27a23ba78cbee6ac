/** WHAT WAITS FOR WHAT in a flow, checked before anything is stored. */
import { asInputError, invalid, MillraceError } from "./errors.ts";
import {
  type After,
  ALL_OTHERS,
  MAX_FLOW_CALL,
  MAX_FLOW_EDGES,
  MAX_LAST_MEMBERS,
  ON_FAILURE,
  type MemberPlan,
  type OnFailure,
} from "./flow.ts";
import { readStepName } from "./steps.ts";

/** A member before its job is made. */
export interface MemberLinks {
  readonly name: string;
  readonly after: After;
  readonly onFailure: OnFailure;
}

/** A member as it was given: nothing but that it is an object is known of it. */
export type GivenMember = { readonly [name: string]: unknown };

/** Reads a list of members. Throws `invalid_input`. */
export function readMembers(input: unknown): GivenMember[] {
  if (!Array.isArray(input)) throw invalid("members", "a list of members", input);
  return Array.from(input, (member: unknown, index) => {
    if (typeof member !== "object" || member === null || Array.isArray(member)) {
      throw invalid(memberAt(index), "an object with a name and a type", member);
    }
    return member as GivenMember;
  });
}

/** The place of a member in the list of a call. */
export function memberAt(index: number): string {
  return `members[${index}]`;
}

const NO_OPTIONS = ["idempotencyKey", "keyTtl", "id", "tx", "coalesce"] as const;

/** Refuses options that the job of a member cannot have. */
export function refuseMemberOptions(options: GivenMember): void {
  const field = NO_OPTIONS.find((name) => options[name] !== undefined);
  if (field !== undefined) throw refused(field, `${field} cannot be used in a flow: the flow has one key`);
}

/** What is wrong with a member, with its name and its place. Any other error is returned as it is. */
export function memberError(error: unknown, name: unknown, index: number): unknown {
  const known = asInputError(error);
  if (known.code === "store_unavailable") return error;
  const { code, message, field, issues } = known;
  const at = memberAt(index);
  return new MillraceError(code, `${typeof name === "string" ? `member "${name}"` : at}: ${message}`, {
    field: field === undefined ? at : `${at}.${field}`,
    ...(issues !== undefined && { issues }),
    cause: error,
  });
}

/**
 * Reads what each member waits for. `known`: the plan of a member that the flow has already. Throws `invalid_input` that names the member: names that are
 * doubled, empty or unknown, a circle, too many.
 */
export function readLinks(
  members: readonly { readonly name?: unknown; readonly after?: unknown; readonly onFailure?: unknown }[],
  known: (name: string) => Pick<MemberPlan, "after"> | undefined = () => undefined,
): MemberLinks[] {
  if (members.length === 0) throw invalid("members", "a list of at least one member", members);
  if (members.length > MAX_FLOW_CALL) throw invalid("members", `a list of at most ${MAX_FLOW_CALL} members`, members.length);
  const links = members.map((member, index) => readOne(member, memberAt(index)));
  const names = new Set<string>();
  for (const [index, { name }] of links.entries()) {
    if (names.has(name)) throw refused(`${memberAt(index)}.name`, `two members have the name "${name}": each needs its own`);
    names.add(name);
  }
  let edges = 0;
  let last = 0;
  for (const [index, { name, after }] of links.entries()) {
    if (after === ALL_OTHERS) {
      last++;
      continue;
    }
    edges += after.length;
    const field = `${memberAt(index)}.after`;
    for (const one of after) {
      const there = names.has(one) ? null : known(one);
      if (there === undefined) throw refused(field, `"${name}" waits for "${one}", but the flow has no member of that name`);
      // That one waits for all others, and so for this.
      if (there !== null && there.after === ALL_OTHERS) throw circle([name, one, name]);
    }
  }
  if (edges > MAX_FLOW_EDGES)
    throw refused("members", `the members wait for ${edges} others in all; at most ${MAX_FLOW_EDGES} are possible`);
  if (last > MAX_LAST_MEMBERS) throw refused("members", `${last} members wait for "${ALL_OTHERS}"; at most ${MAX_LAST_MEMBERS} can`);
  refuseCircles(links);
  return links;
}

function readOne({ name, after, onFailure = "cancel" }: { name?: unknown; after?: unknown; onFailure?: unknown }, at: string): MemberLinks {
  const checked = readStepName(name, `${at}.name`);
  if (checked === ALL_OTHERS) throw refused(`${at}.name`, `a member cannot have the name "${ALL_OTHERS}": in after it means all others`);
  if (!ON_FAILURE.includes(onFailure as OnFailure)) throw invalid(`${at}.onFailure`, ON_FAILURE.join(", "), onFailure);
  return { name: checked, after: readAfter(after, `${at}.after`), onFailure: onFailure as OnFailure };
}

function readAfter(after: unknown, field: string): After {
  if (after === undefined || after === null) return [];
  if (after === ALL_OTHERS) return ALL_OTHERS;
  const names = typeof after === "string" ? [after] : after;
  const rule = `the name of a member, a list of names, or "${ALL_OTHERS}"`;
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string")) throw invalid(field, rule, after);
  if (names.includes(ALL_OTHERS)) throw refused(field, `"${ALL_OTHERS}" stands alone: after: "${ALL_OTHERS}"`);
  return [...new Set<string>(names)];
}

function addTo(lists: Map<string, string[]>, key: string, item: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

/** Takes away what waits for nothing any more, until nothing is left, or only circles. */
function refuseCircles(links: readonly MemberLinks[]): void {
  const waits = new Map<string, Set<string>>();
  const inCall = new Set(links.map(({ name }) => name));
  const next = new Map<string, string[]>();
  for (const { name, after } of links) {
    if (after === ALL_OTHERS) continue;
    waits.set(name, new Set(after.filter((one) => inCall.has(one))));
    for (const one of after) addTo(next, one, name);
  }
  // A member that waits for all others cannot be waited for by one of them.
  for (const { name, after } of links) {
    const looped = after === ALL_OTHERS ? next.get(name)?.[0] : undefined;
    if (looped !== undefined) throw circle([name, looped, name]);
  }
  const free = [...waits].filter(([, some]) => some.size === 0).map(([name]) => name);
  for (let name = free.pop(); name !== undefined; name = free.pop()) {
    waits.delete(name);
    for (const one of next.get(name) ?? []) {
      const left = waits.get(one);
      left?.delete(name);
      if (left?.size === 0) free.push(one);
    }
  }
  if (waits.size > 0) throw circle(circleIn(waits));
}

/** Goes from one to what it waits for, until it comes to a member again. */
function circleIn(waits: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const path: string[] = [];
  for (let name = [...waits.keys()][0]!; ;) {
    const at = path.indexOf(name);
    if (at !== -1) return [...path.slice(at), name].reverse();
    path.push(name);
    name = [...waits.get(name)!].find((one) => waits.has(one))!;
  }
}

const MOST_NAMED = 10;

function circle(names: readonly string[]): MillraceError {
  const shown = names.length > MOST_NAMED ? [...names.slice(0, MOST_NAMED - 1), "…", names.at(-1)!] : names;
  return refused("members", `these members wait for each other, so none could ever start: ${shown.join(" → ")}`);
}

function refused(field: string, message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}
