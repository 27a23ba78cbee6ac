import type { MemberText } from "../../core/flow.ts";
import type { NewFlow } from "../../core/job.ts";
import { tenBitsOf } from "../../lib/id.ts";
import type { FlowChange, FlowChangeAnswer, FlowPage, FlowRead } from "../store.ts";
import { listOf, numberOf, type Reply, textOf } from "./codec.ts";
import { chunksOf, type Context } from "./context.ts";
import { shortId } from "./ids.ts";
import { flowBucketOf } from "./keys.ts";
import { FLOW_FIELD } from "./layout.ts";
import { encodeNotice } from "./notices.ts";
import { CHANGE_FLOW, FLOW_NAMES, READ_FLOW } from "./statements/flows.ts";

/** How many members a page has at most. */
const MOST_IN_PAGE = 1_000;

const planField = (name: string): string => FLOW_FIELD.plan + name;
const stateField = (name: string): string => FLOW_FIELD.state + name;

/** Arguments by bucket, as scripts read them: the number of buckets, then (bucket, number of arguments, arguments …) each. */
function byBucket<Item extends { readonly name: string }>(items: readonly Item[], encode: (item: Item) => readonly string[]): string[] {
  const buckets = Map.groupBy(items, ({ name }) => flowBucketOf(name));
  return [String(buckets.size), ...Array.from(buckets, ([bucket, some]) => groupArgs(bucket, some.flatMap(encode))).flat()];
}

const groupArgs = (bucket: number, args: readonly string[]): string[] => [String(bucket), String(args.length), ...args];

function encodeMembers(members: readonly MemberText[]): string[] {
  const encode = ({ name, plan, state }: MemberText): string[] => [planField(name), plan, stateField(name), state];
  return [String(members.length), ...byBucket(members, encode)];
}

/** Where the arguments of INSERT_FLOW have what `encodeFlow` returns. */
const FLOW_FROM = 5;

/** What INSERT_FLOW reads before the job. */
export function encodeFlow({ head, members, notices }: NewFlow): string[] {
  const args = [head, ...encodeMembers(members), ...notices.map(encodeNotice)];
  return [String(FLOW_FROM + 1 + args.length), ...args];
}

export function readFlows(context: Context, reads: readonly FlowRead[]): Promise<(FlowPage | null)[]> {
  return Promise.all(
    reads.map(({ id, names, after = null, limit = MOST_IN_PAGE }) =>
      names === undefined ? readPage(context, id, after, Math.max(1, Math.min(limit, MOST_IN_PAGE))) : readNamed(context, id, names),
    ),
  );
}

const fieldsOf = (name: string): [string, string] => [planField(name), stateField(name)];

/** Several calls may see several versions. The page has the lowest of them, so a change that follows from it is stale if any has changed. */
async function readNamed(context: Context, id: string, names: readonly string[]): Promise<FlowPage | null> {
  const different = [...new Set(names)];
  const chunks = different.length === 0 ? [[]] : chunksOf(different);
  const pages = await Promise.all(
    chunks.map((some) => {
      const asked = Array.from(Map.groupBy(some, flowBucketOf).entries());
      return readMembers(context, id, "", asked);
    }),
  );
  const there = pages.filter((page) => page !== null);
  if (there.length < pages.length) return null;
  const oldest = there.reduce((one, other) => (other.version < one.version ? other : one));
  return { ...oldest, members: there.flatMap(({ members }) => members) };
}

/** Names of members that are in one bucket; 0 stands for the key of the head. */
type Asked = readonly [bucket: number, names: readonly string[]];

async function readMembers({ session, keys }: Context, id: string, isBounded: "" | "1", asked: readonly Asked[]): Promise<FlowPage | null> {
  const groups = asked.flatMap(([bucket, names]) => groupArgs(bucket, names.flatMap(fieldsOf)));
  const args = [shortId(id), isBounded, String(asked.length), ...groups];
  const reply = await session.run(READ_FLOW, keys.partition(tenBitsOf(id)), args);
  if (reply === null) return null;
  const [now, version, head, texts] = listOf(reply);
  const names = asked.flatMap(([, some]) => some);
  return { now: numberOf(now), version: numberOf(version), head: textOf(head), members: membersIn(names, listOf(texts)), cursor: null };
}

/** (plan, state) of each name; with a bound, only of the first ones. */
function membersIn(names: readonly string[], texts: readonly Reply[]): MemberText[] {
  const members: MemberText[] = [];
  for (let at = 0; at < texts.length; at += 2) {
    if (texts[at] !== null) members.push({ name: names[at / 2]!, plan: textOf(texts[at]), state: textOf(texts[at + 1]) });
  }
  return members;
}

/**
 * The order is that of the buckets, and of the names in each. One call asks for the names, and another for the texts of those that come next:
 * no member ever leaves a flow.
 */
async function readPage(context: Context, id: string, after: string | null, limit: number): Promise<FlowPage | null> {
  const asked = await namesAfter(context, id, after, limit + 1);
  if (asked === null) return null;
  const names = asked.flatMap(([, some]) => some);
  const page = await readMembers(context, id, "1", asked);
  if (page === null) return null;
  const members = page.members.slice(0, limit);
  return { ...page, members, cursor: members.length < names.length ? members.at(-1)!.name : null };
}

/** So many names that come next; fewer only if there are no more. */
async function namesAfter({ session, keys }: Context, id: string, after: string | null, wanted: number): Promise<Asked[] | null> {
  const asked: Asked[] = [];
  let left = wanted;
  let bucket = after === null ? 0 : flowBucketOf(after);
  for (let from = after; bucket >= 0 && left > 0; from = null) {
    const args = [shortId(id), String(bucket), from === null ? "" : stateField(from), String(left)];
    const reply = await session.run(FLOW_NAMES, keys.partition(tenBitsOf(id)), args);
    if (reply === null) return null;
    const [next, lists] = listOf(reply);
    for (let at = 0; at < listOf(lists).length; at += 2) {
      const all = listOf(listOf(lists)[at + 1]).map((field) => textOf(field).slice(FLOW_FIELD.state.length));
      const first = at === 0 ? from : null;
      const names = (first === null ? all : all.filter((name) => name > first)).sort().slice(0, left);
      asked.push([numberOf(listOf(lists)[at]), names]);
      left -= names.length;
    }
    bucket = numberOf(next);
  }
  return asked;
}

const ANSWERS: Readonly<Record<string, FlowChangeAnswer>> = { o: "ok", s: "stale", m: "missing" };

/** Changes of one flow are sent one after the other: if parallel calls were repeated, they could change places. */
export async function changeFlows(context: Context, changes: readonly FlowChange[]): Promise<FlowChangeAnswer[]> {
  const answers: FlowChangeAnswer[] = Array.from({ length: changes.length });
  const places = Map.groupBy(changes.keys(), (place) => changes[place]!.id);
  await Promise.all(
    Array.from(places.values(), async (some) => {
      for (const place of some) answers[place] = await changeFlow(context, changes[place]!);
    }),
  );
  return answers;
}

async function changeFlow({ session, keys, feed }: Context, change: FlowChange): Promise<FlowChangeAnswer> {
  const { id, version, head, states, added, notices } = change;
  const stored = byBucket(states, ({ name, state }) => [stateField(name), state]);
  const args = [shortId(id), String(version), head, ...stored, ...encodeMembers(added), ...notices.map(encodeNotice)];
  const answer = ANSWERS[textOf(await session.run(CHANGE_FLOW, keys.partition(tenBitsOf(id)), args))]!;
  if (answer === "ok") feed.tellOfNotices(notices.length);
  return answer;
}
