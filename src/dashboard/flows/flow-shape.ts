/** THE SHAPE OF A FLOW: which member comes after which, in which column each stands, and whether it can be drawn. Pure. */
import { ALL_OTHERS } from "../../core/flow.ts";
import type { FlowMember } from "../shapes.ts";

/** A member, and one that waits for it. */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

export type ShapeOf = Pick<FlowMember, "name" | "after">;

export interface FlowShape {
  readonly edges: readonly Edge[];
  /** The column of each member: right of all that it waits for. */
  readonly columns: ReadonlyMap<string, number>;
}

const byName = new Intl.Collator("en", { numeric: true }).compare;

/** Beyond this a graph shows nothing that a table would not show better. */
export const MAX_DRAWN = 300;
/** How many columns all edges together may cross. With more, drawing takes seconds. */
const MAX_CROSSED = 1500;

/**
 * Who waits for all others is drawn after those that nobody else waits for: the rest follows from that. Members that are not among these are left
 * out.
 */
export function shapeOf(given: readonly ShapeOf[]): FlowShape {
  // What is beside each other is drawn by name, as far as edges allow it.
  const members = given.toSorted((one, other) => byName(one.name, other.name));
  const others = members.filter(({ after }) => after !== ALL_OTHERS);
  const known = new Set(others.map(({ name }) => name));
  const named = others.flatMap(({ name, after }) => [...new Set(after)].flatMap((from) => (known.has(from) ? { from, to: name } : [])));
  const awaited = new Set(named.map(({ from }) => from));
  const ends = others.filter(({ name }) => !awaited.has(name));
  const last = members.filter(({ after }) => after === ALL_OTHERS);
  const edges = [...named, ...last.flatMap((to) => ends.map((from) => ({ from: from.name, to: to.name })))];
  return { edges, columns: columnsOf(members, edges) };
}

/** Columns that are higher than this are read more easily as a table. */
const MAX_HIGH = 40;

/** Whether its tallest column is so high that a table says more at first sight. */
export function isTall({ columns }: FlowShape): boolean {
  return Map.groupBy(columns.values(), (column) => column)
    .values()
    .some(({ length }) => length > MAX_HIGH);
}

/** Whether there is something to draw, and not too much. */
export function isDrawable({ edges, columns }: FlowShape): boolean {
  const crossed = edges.reduce((sum, { from, to }) => sum + columns.get(to)! - columns.get(from)!, 0);
  return columns.size > 0 && columns.size <= MAX_DRAWN && crossed <= MAX_CROSSED;
}

function columnsOf(members: readonly ShapeOf[], edges: readonly Edge[]): Map<string, number> {
  const next = Map.groupBy(edges, ({ from }) => from);
  const waits = new Map(members.map(({ name }) => [name, 0]));
  for (const { to } of edges) waits.set(to, waits.get(to)! + 1);
  const columns = new Map<string, number>();
  let open = members.flatMap(({ name }) => (waits.get(name) === 0 ? name : []));
  for (let column = 0; open.length > 0; column++) {
    const following: string[] = [];
    for (const name of open) {
      columns.set(name, column);
      for (const { to } of next.get(name) ?? []) {
        const left = waits.get(to)! - 1;
        waits.set(to, left);
        if (left === 0) following.push(to);
      }
    }
    open = following;
  }
  return columns;
}

/** The members that one waits for. */
export function membersBefore<Member extends ShapeOf>({ name, after }: ShapeOf, members: readonly Member[]): Member[] {
  if (after === ALL_OTHERS) return members.filter((other) => other.after !== ALL_OTHERS && other.name !== name);
  const names = new Set(after);
  return members.filter((other) => names.has(other.name));
}

/** The members that wait for one. */
export function membersAfter<Member extends ShapeOf>({ name, after }: ShapeOf, members: readonly Member[]): Member[] {
  return members.filter((other) => (other.after === ALL_OTHERS ? after !== ALL_OTHERS : other.after.includes(name)));
}

/** Those that can start first come first; beside each other by name, `chunk-2` before `chunk-10`. */
export function inOrder<Member extends ShapeOf>(members: readonly Member[], { columns }: Pick<FlowShape, "columns">): Member[] {
  const columnOf = ({ name }: Member): number => columns.get(name) ?? 0;
  return members.toSorted((one, other) => columnOf(one) - columnOf(other) || byName(one.name, other.name));
}
