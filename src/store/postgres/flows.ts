/** FLOWS: see "Jobs run after each other" in store.ts. */
import type { MemberText } from "../../core/flow.ts";
import type { NewJob } from "../../core/job.ts";
import type { Notice } from "../../core/steps.ts";
import { NOTICE } from "../numbers.ts";
import type { FlowChange, FlowChangeAnswer, FlowPage, FlowRead } from "../store.ts";
import { FLOW_ANSWERS, flowAnswer } from "./answers.ts";
import type { Arrays } from "./arrays.ts";
import { decodeText, encodeText, numbers, type Row } from "./codec.ts";
import { type Context, inRounds, readNumbers, roundsById } from "./context.ts";
import { encodeNotice } from "./notices.ts";
import { waitOrLeaveOut } from "./wait-or-leave-out.ts";

/** What belongs to the flows of a call, each with the number of its flow. */
class OfFlows<Item> {
  readonly ords: number[] = [];
  readonly items: Item[] = [];

  add(ord: number, items: readonly Item[]): void {
    for (const item of items) {
      this.ords.push(ord);
      this.items.push(item);
    }
  }

  column(arrays: Arrays, textOf: (item: Item) => string): string | Buffer {
    return arrays.texts(this.items.map(textOf));
  }
}

const nameOf = ({ name }: Pick<MemberText, "name">): string => encodeText(name);
const stateOf = ({ state }: Pick<MemberText, "state">): string => state;

/** The columns of `admit_flows` after those of `admit`; null: none of these jobs is a flow. */
export function flowColumns(jobs: readonly NewJob[], arrays: Arrays): unknown[] | null {
  const heads = new OfFlows<string>();
  const members = new OfFlows<MemberText>();
  const notices = new OfFlows<Notice>();
  jobs.forEach(({ flow }, index) => {
    if (flow === undefined) return;
    heads.add(index + 1, [flow.head]);
    members.add(index + 1, flow.members);
    notices.add(index + 1, flow.notices);
  });
  if (heads.items.length === 0) return null;
  return [arrays.ints(heads.ords), arrays.texts(heads.items), ...memberColumns(members, arrays), ...noticeColumns(notices, arrays)];
}

function memberColumns(members: OfFlows<MemberText>, arrays: Arrays): unknown[] {
  return [
    arrays.ints(members.ords),
    members.column(arrays, nameOf),
    members.column(arrays, ({ plan }) => plan),
    members.column(arrays, stateOf),
  ];
}

function noticeColumns(notices: OfFlows<Notice>, arrays: Arrays): unknown[] {
  return [arrays.ints(notices.ords), numbers(notices.items.map(({ kind }) => NOTICE[kind])), notices.column(arrays, encodeNotice)];
}

export async function readFlows({ connections, sql, arrays, now }: Context, reads: readonly FlowRead[]): Promise<(FlowPage | null)[]> {
  if (reads.length === 0) return [];
  const named = new OfFlows<string>();
  const pages = new OfFlows<FlowRead>();
  reads.forEach((read, index) => {
    if (read.names === undefined) pages.add(index + 1, [read]);
    else named.add(index + 1, [...new Set(read.names)]);
  });
  const rows = await connections.call(sql.readFlows, [
    now(),
    arrays.ids(reads.map(({ id }) => id)),
    arrays.ints(named.ords),
    named.column(arrays, encodeText),
    arrays.ints(pages.ords),
    // No name is empty.
    pages.column(arrays, ({ after }) => encodeText(after ?? "")),
    arrays.ints(pages.items.map(({ limit }) => limit ?? null)),
  ]);
  return readPages(reads.length, rows);
}

type OpenPage = { -readonly [Key in keyof FlowPage]: FlowPage[Key] } & { readonly members: MemberText[] };

function readPages(count: number, rows: readonly Row[]): (FlowPage | null)[] {
  const found: (OpenPage | null)[] = Array.from({ length: count }, () => null);
  for (const row of rows) {
    const [ord, encoded, plan, state, number, now] = row as [number, string | null, string, string, number, number];
    if (encoded === null) {
      found[ord - 1] = { now, version: number, head: plan, members: [], cursor: null };
      continue;
    }
    const name = decodeText(encoded);
    const page = found[ord - 1]!;
    page.members.push({ name, plan, state });
    page.cursor = number > 0 ? name : null;
  }
  return found;
}

export async function changeFlows(context: Context, changes: readonly FlowChange[]): Promise<FlowChangeAnswer[]> {
  const answers = await inRounds(changes, roundsById(changes), (batch) => change(context, batch));
  if (changes.some(({ notices }, index) => answers[index] === "ok" && notices.length > 0)) context.sendHints([{ topic: "notices" }]);
  return answers;
}

const LOCKED = flowAnswer("locked");

async function change({ connections, sql, arrays }: Context, changes: readonly FlowChange[]): Promise<FlowChangeAnswer[]> {
  const states = new OfFlows<Pick<MemberText, "name" | "state">>();
  const members = new OfFlows<MemberText>();
  const notices = new OfFlows<Notice>();
  changes.forEach(({ states: changed, added, notices: left }, index) => {
    states.add(index + 1, changed);
    members.add(index + 1, added);
    notices.add(index + 1, left);
  });
  const values = [
    arrays.ids(changes.map(({ id }) => id)),
    arrays.bigints(changes.map(({ version }) => version)),
    arrays.texts(changes.map(({ head }) => head)),
    arrays.ints(states.ords),
    states.column(arrays, nameOf),
    states.column(arrays, stateOf),
    ...memberColumns(members, arrays),
    ...noticeColumns(notices, arrays),
  ];
  const [row] = await waitOrLeaveOut(connections, {
    items: changes.length,
    // What the flow was told comes again.
    leavesHeld: true,
    ask: (on, careful) => on.query(sql.changeFlows, [careful, ...values]),
    leavesOut: ([found]) => readNumbers(found![0] as string).includes(LOCKED),
  });
  return readNumbers(row![0] as string).map((answer) => FLOW_ANSWERS[answer]!);
}
