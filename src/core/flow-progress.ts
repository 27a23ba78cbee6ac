/**
 * HOW A FLOW GOES ON: from what it was told, to the states of its members, and to what must be done with their jobs. Pure: the caller reads the
 * members that it needs (`needed`), and stores the outcome if nobody was faster.
 */
import {
  classOf,
  type EndClass,
  type FlowHead,
  type FlowStatus,
  isFirst,
  MAX_NAMED,
  type Member,
  type MemberState,
  newState,
  waitsForAll,
} from "./flow.ts";
import { memberId } from "./member-job.ts";
import type { Status } from "./job.ts";
import type { Notice } from "./steps.ts";

/** What a flow is told of a member: that it ended, or (`end` null) that somebody retried it by hand. */
export interface Told {
  readonly name: string;
  readonly jobId: string;
  readonly at: number;
  readonly end: Status | null;
  readonly value: string | null;
}

/** What a call adds to a flow, in its order: all that `after` names is there or comes with it. */
export type Added = Pick<Member, "name" | "plan">;

const MAX_STUCK_NAMED = 10;

const A_BAD_END = "a job that it waits for ended badly";

export class FlowProgress {
  readonly #id: string;
  readonly #members: ReadonlyMap<string, Member>;
  readonly #now: number;
  readonly #states = new Map<string, MemberState>();
  readonly #toDo = new Set<string>();
  readonly #added: Member[] = [];
  #head: FlowHead;
  #isToCancel = false;
  readonly #before: FlowStatus;

  /** `members`: all that the calls below touch. */
  constructor(id: string, head: FlowHead, members: Iterable<Member>, now: number) {
    this.#id = id;
    this.#head = head;
    this.#before = head.status;
    this.#now = now;
    this.#members = new Map(Array.from(members, (member) => [member.name, member]));
  }

  /** The members that wait for all others, and that are not read yet. */
  static last({ last }: FlowHead, members: readonly Member[]): string[] {
    const known = new Set(members.map(({ name }) => name));
    return last.filter((name) => !known.has(name));
  }

  /** The members that depend on these, and that are not read yet. Those that wait for all others depend on each. */
  static needed(head: FlowHead, members: readonly Member[]): string[] {
    const known = new Set(members.map(({ name }) => name));
    const names = new Set([...members.flatMap(({ state }) => state.next), ...head.last]);
    return [...names].filter((name) => !known.has(name));
  }

  // ── What happens ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The jobs of these members are stored: as blocked, or if nothing comes before them, ready to run. */
  started(names: readonly string[]): void {
    for (const name of names) {
      const member = this.#members.get(name);
      if (member === undefined || this.#stateOf(name).phase !== "new") continue;
      this.#head = { ...this.#head, fresh: this.#head.fresh - 1 };
      this.#set(name, { phase: isFirst(member.plan) ? "opened" : "blocked" });
      this.#judge(name);
    }
  }

  told({ name, jobId, at, end, value }: Told): void {
    const member = this.#members.get(name);
    if (member === undefined) return;
    const before = this.#stateOf(name);
    if (at <= before.at) return;
    // Another job of the same member, which was gone.
    if (before.job > 0 && jobId !== memberId(this.#id, name, member.plan.job.queue, before.job)) return;
    this.#set(name, { at, end, value: this.#isRead(name) ? value : null });
    if (end === null) this.#waitsAgain(member);
    this.#count(member, before.end, end);
    this.#tellNext(member, classOf(before.end), classOf(end));
    this.#judge(name);
  }

  /** The job of a member that ended is gone, and another one is stored. */
  remade(name: string, job: number): void {
    const member = this.#members.get(name);
    if (member === undefined || this.#stateOf(name).end === null || this.#stateOf(name).job !== job - 1) return;
    const { end } = this.#stateOf(name);
    this.#set(name, { job, at: -1, end: null, value: null });
    this.#waitsAgain(member);
    this.#count(member, end, null);
    this.#tellNext(member, classOf(end), "open");
    this.#judge(name);
  }

  add(added: readonly Added[]): void {
    const waits = new Map<string, { waits: number; bad: number }>();
    const next = new Map<string, string[]>();
    const nextOf = (name: string): string[] => {
      const list = next.get(name) ?? [];
      next.set(name, list);
      return list;
    };
    const names = new Set(added.map(({ name }) => name));
    for (const { name, plan } of added) {
      if (waitsForAll(plan)) continue;
      const count = { waits: 0, bad: 0 };
      for (const one of plan.after as readonly string[]) {
        const before = names.has(one) ? null : this.#stateOf(one);
        if (before === null || before.end === null) count.waits++;
        if (before !== null && classOf(before.end) === "bad") count.bad++;
        nextOf(one).push(name);
      }
      waits.set(name, count);
    }
    for (const [name, some] of next) if (!names.has(name)) this.#set(name, { next: [...this.#stateOf(name).next, ...some] });
    for (const { name, plan } of added) {
      const counts = waits.get(name) ?? { waits: 0, bad: 0 };
      this.#added.push({ name, plan, state: { ...newState(counts.waits, next.get(name) ?? []), bad: counts.bad } });
    }
    const last = added.flatMap(({ name, plan }) => (waitsForAll(plan) ? name : []));
    const before = this.#head;
    this.#head = {
      ...this.#head,
      total: this.#head.total + added.length,
      fresh: this.#head.fresh + added.length,
      open: this.#head.open + added.length - last.length,
      last: [...this.#head.last, ...last],
    };
    // They wait for these, too.
    for (const name of before.last) this.#judge(name);
  }

  /** Somebody cancels the flow. */
  cancel(): void {
    this.#head = { ...this.#head, isCancelled: true };
    this.#isToCancel = true;
  }

  // ── What follows ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What to store. Its notices do what the states say. */
  outcome(): {
    readonly head: FlowHead;
    readonly states: { readonly name: string; readonly state: MemberState }[];
    readonly added: Member[];
    readonly notices: Notice[];
  } {
    const status = this.#status();
    const endedAt = status === "running" ? null : status === this.#before ? this.#head.endedAt : this.#now;
    const notices = namedIn("act", this.#id, [...this.#toDo]);
    notices.push(
      ...namedIn(
        "start",
        this.#id,
        this.#added.map(({ name }) => name),
      ),
    );
    if (this.#isToCancel) notices.push({ kind: "flow", id: this.#id, work: "cancel", names: [] });
    if (status !== this.#before) notices.push({ kind: "flow", id: this.#id, work: "end", names: [] });
    return {
      head: { ...this.#head, status, endedAt },
      states: Array.from(this.#states, ([name, state]) => ({ name, state })),
      added: this.#added,
      notices,
    };
  }

  #status(): FlowStatus {
    const { total, ended, fresh, reviving, isCancelled } = this.#head;
    const done = Object.values(ended).reduce((sum, count) => sum + count, 0);
    if (fresh > 0 || reviving > 0 || done < total) return "running";
    if (ended.completed === total) return "completed";
    return isCancelled ? "cancelled" : "failed";
  }

  #stateOf(name: string): MemberState {
    return this.#states.get(name) ?? this.#members.get(name)!.state;
  }

  #set(name: string, change: Partial<MemberState>): void {
    const before = this.#stateOf(name);
    const after = { ...before, ...change };
    this.#states.set(name, after);
    if (before.phase === after.phase) return;
    const reviving = Number(after.phase === "revive") - Number(before.phase === "revive");
    if (reviving !== 0) this.#head = { ...this.#head, reviving: this.#head.reviving + reviving };
  }

  /** Whether a member may read its result. */
  #isRead(name: string): boolean {
    return this.#head.last.length > 0 || this.#stateOf(name).next.length > 0;
  }

  /** After a retry, the flow opens it when it may run. Who retries a member of a cancelled flow wants it to go on. */
  #waitsAgain({ name }: Member): void {
    // One that nobody had said to be stored was, if it could end.
    const started = this.#stateOf(name).phase === "new" ? 1 : 0;
    this.#set(name, { phase: "blocked", cause: null });
    this.#head = { ...this.#head, fresh: this.#head.fresh - started, isCancelled: false };
  }

  #count({ name }: Member, before: Status | null, after: Status | null): void {
    const ended = { ...this.#head.ended };
    if (before !== null) ended[before] = ended[before]! - 1;
    if (after !== null) ended[after] = (ended[after] ?? 0) + 1;
    const [open, bad] = this.#isLast(name) ? [0, 0] : difference(classOf(before), classOf(after));
    this.#head = { ...this.#head, ended, open: this.#head.open + open, bad: this.#head.bad + bad };
  }

  #tellNext({ name }: Member, before: EndClass, after: EndClass): void {
    if (before === after) return;
    const [waits, bad] = difference(before, after);
    const because = `"${name}" ended ${this.#stateOf(name).end}`;
    for (const next of this.#stateOf(name).next) {
      const state = this.#stateOf(next);
      this.#set(next, { waits: state.waits + waits, bad: state.bad + bad });
      this.#judge(next, because);
    }
    if (this.#isLast(name)) return;
    for (const last of this.#head.last) this.#judge(last, because);
  }

  /** What a member is to do now. `because`: what has just happened to one that it waits for. */
  #judge(name: string, because: string = A_BAD_END): void {
    const member = this.#members.get(name)!;
    const { phase, end, cause } = this.#stateOf(name);
    // It runs, or ended by itself.
    if (phase === "opened" && (end === null || cause === null)) return;
    const [waits, bad] = this.#waitsOf(member);
    const { onFailure } = member.plan;
    if (end !== null) {
      if (end === "cancelled" && cause !== null && bad === 0 && phase !== "revive") this.#become(name, "revive");
      if (phase === "revive" && bad > 0) this.#set(name, { phase: "cut" });
    } else if (phase === "blocked" && bad > 0 && onFailure === "cancel" && !this.#head.isCancelled) {
      this.#set(name, { cause: because });
      this.#become(name, "cut");
    } else if (phase === "cut" && bad === 0) {
      this.#become(name, waits === 0 ? "opened" : "blocked");
    } else if (phase === "blocked" && waits === 0 && (bad === 0 || onFailure === "run") && !this.#head.isCancelled) {
      this.#become(name, "opened");
    }
    const isStuck = this.#isStuck(member);
    if (isStuck === this.#stateOf(name).isStuck) return;
    this.#set(name, { isStuck });
    this.#countStuck(name, isStuck);
  }

  #become(name: string, phase: MemberState["phase"]): void {
    this.#set(name, { phase });
    this.#toDo.add(name);
  }

  /** Whether it waits for all others. */
  #isLast(name: string): boolean {
    return this.#head.last.includes(name);
  }

  #waitsOf({ name }: Member): [waits: number, bad: number] {
    if (this.#isLast(name)) return [this.#head.open, this.#head.bad];
    const { waits, bad } = this.#stateOf(name);
    return [waits, bad];
  }

  /** Whether it waits for somebody to retry what it waits for. */
  #isStuck(member: Member): boolean {
    const { phase, end } = this.#stateOf(member.name);
    if (member.plan.onFailure !== "wait" || end !== null || phase !== "blocked") return false;
    const [waits, bad] = this.#waitsOf(member);
    return waits === 0 && bad > 0;
  }

  #countStuck(name: string, isStuck: boolean): void {
    const { count, names } = this.#head.stuck;
    const others = names.filter((one) => one !== name);
    const named = isStuck && others.length < MAX_STUCK_NAMED ? [...others, name] : others;
    this.#head = { ...this.#head, stuck: { count: count + (isStuck ? 1 : -1), names: named } };
  }
}

/** By how much the open and the bad ones among those that a member waits for change. */
function difference(before: EndClass, after: EndClass): [open: number, bad: number] {
  return [Number(after === "open") - Number(before === "open"), Number(after === "bad") - Number(before === "bad")];
}

/** Notices about these members, a part of them each. */
function namedIn(work: "act" | "start", id: string, names: readonly string[]): Notice[] {
  const notices: Notice[] = [];
  for (let from = 0; from < names.length; from += MAX_NAMED) {
    notices.push({ kind: "flow", id, work, names: names.slice(from, from + MAX_NAMED) });
  }
  return notices;
}
