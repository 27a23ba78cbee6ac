/** THE CALLS OF AN EXCHANGE: which script is sent with which arguments, and how its answer is read. */
import type { NewJob } from "../../core/job.ts";
import { isPlainEnd } from "../../core/lifecycle.ts";
import type { Notice } from "../../core/steps.ts";
import { tenBitsOf } from "../../lib/id.ts";
import { LARGEST_FENCE, settledMark } from "../numbers.ts";
import type { Claim, Settlement } from "../store.ts";
import { digits, type Granted, type GrantedIn, listOf, numberOf, readLanes, type Reply, textOf } from "./codec.ts";
import { encodeErrorText, encodeNumber, encodeShape } from "./shape.ts";
import { MOST_PER_EXCHANGE } from "./context.ts";
import { shortId } from "./ids.ts";
import { encodeJobs } from "./insert.ts";
import { KIND_DIGITS } from "./layout.ts";
import { encodeNotice } from "./notices.ts";
import type { ScriptCall } from "./session.ts";
import { EXCHANGE, EXCHANGE_FOLLOWED } from "./statements/exchange.ts";
import { EXCHANGE_PLAIN } from "./statements/exchange-plain.ts";
import { EXCHANGE_STEPS } from "./statements/exchange-steps.ts";
import type { Script } from "./statements/script.ts";
import { encodeStep } from "./steps.ts";

/** A claim that looks into queues of one partition. */
export interface Look {
  readonly claim: Claim;
  readonly turn: string;
  /** The name of this repeat, to tell a late one from the last; "" for a first try. */
  readonly asker: string;
  readonly queues: readonly string[];
  /** What it has taken before. */
  readonly taken: readonly unknown[];
}

function limitOf({ claim, taken }: Look): number {
  return Math.min(claim.limit - taken.length, MOST_PER_EXCHANGE);
}

// ── The usual case ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The call of EXCHANGE_PLAIN for a first try; null if it needs EXCHANGE. */
export function plainCall(settlements: readonly Settlement[], looks: readonly Look[], name: string): ScriptCall | null {
  if (!looks.every(isPlainLook) || looks.length > 1 || !arePlainEnds(settlements)) return null;
  return { script: EXCHANGE_PLAIN, args: [...encodeEnds(settlements), ...looks.flatMap((look) => encodeLook(look, name))] };
}

function isPlainLook({ asker, queues }: Look): boolean {
  return asker === "" && queues.length === 1;
}

/** The script would count a job twice that is given twice. */
function arePlainEnds(settlements: readonly Settlement[]): boolean {
  return settlements.every(isEnd) && new Set(settlements.map(({ id }) => id)).size === settlements.length;
}

/**
 * A settlement that EXCHANGE_PLAIN can make. It compares marks as they are stored, where one of a fence that no job can have would be cut, and
 * could look like another.
 */
export function isEnd(settlement: Settlement): boolean {
  const { fence, transition, ifExpired, followUp } = settlement;
  const isUsual = fence <= LARGEST_FENCE && !ifExpired && !followUp && !isDurable(settlement);
  return isUsual && !usesLimits(settlement) && isPlainEnd(transition);
}

/** Whether a settlement has steps or a notice to store. */
function isDurable({ waits = [], calls = [], notice }: Settlement): boolean {
  return waits.length > 0 || calls.length > 0 || notice !== undefined;
}

/** Whether a settlement says something of rates, or of the limit key of its job. */
function usesLimits({ unstarted, holdMs, spend = 0 }: Settlement): boolean {
  return unstarted === true || holdMs !== undefined || spend > 0;
}

/** What all settlements have in common is sent once. */
function encodeEnds(settlements: readonly Settlement[]): string[] {
  const columns = [
    settlements.map(({ fence, outcome }) => String(settledMark(fence, outcome))),
    settlements.map(({ transition }) => encodeNumber(transition.runMs)),
    settlements.map(({ heldMs = 0 }) => String(heldMs)),
    settlements.map(({ transition }) => transition.result ?? ""),
  ];
  const common = columns.map((values) => values.every((value) => value === values[0]));
  return [
    String(settlements.length),
    ...columns.map(([first = "0"], index) => (common[index] ? `=${first}` : "")),
    ...settlements.map(({ id }) => shortId(id)),
    ...columns.filter((_, index) => !common[index]).flat(),
  ];
}

function encodeLook(look: Look, name: string): string[] {
  const { workerId, leaseMs, types } = look.claim;
  return [workerId, look.turn, name, String(leaseMs), String(limitOf(look)), ...look.queues, ...(types === "*" ? ["*"] : types)];
}

// ── Every case ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The call of EXCHANGE. With mode "a" its claims get what they were granted before. */
export function wholeCall(settlements: readonly Settlement[], looks: readonly Look[], name: string, mode: "n" | "a"): ScriptCall {
  const following = followingOf(settlements);
  const numbers = following.map(({ number }) => number);
  const usual = [...encodeSettlements(settlements), String(looks.length), name, ...looks.flatMap((look) => encodeClaim(look, mode))];
  if (settlements.some(isDurable)) {
    const args = [...encodeDurable(settlements, following), ...usual, numbers.join(), ...encodeJobs(following.map(({ job }) => job))];
    return { script: EXCHANGE_STEPS, args };
  }
  if (following.length === 0) return { script: EXCHANGE, args: usual };
  return { script: EXCHANGE_FOLLOWED, args: [...usual, numbers.join(), ...encodeJobs(following.map(({ job }) => job))] };
}

function encodeClaim(look: Look, mode: "n" | "a"): string[] {
  const { claim, turn, asker, queues } = look;
  const limit = mode === "a" ? claim.limit : limitOf(look);
  const types = claim.types === "*" ? ["*"] : [String(claim.types.length), ...claim.types];
  return [claim.workerId, turn, mode, asker, String(claim.leaseMs), String(limit), ...types, String(queues.length), ...queues];
}

function encodeSettlements(settlements: readonly Settlement[]): string[] {
  const shapes = new Map<string, string>();
  const described: string[] = [];
  const args: string[] = [];
  for (const settlement of settlements) {
    const { id, fence, outcome, transition, ifExpired, heldMs = 0, unstarted, holdMs, spend = 0 } = settlement;
    const uses = usesLimits(settlement);
    const shape = encodeShape(transition, outcome, ifExpired, heldMs > 0, uses);
    const name = shape.join();
    let number = shapes.get(name);
    if (number === undefined) {
      shapes.set(name, (number = digits(shapes.size + 1, KIND_DIGITS)));
      described.push(...shape);
    }
    const { delayMs, runMs, result, error } = transition;
    args.push(number + shortId(id), String(fence), encodeNumber(runMs));
    // Only what the shape has is sent.
    if (heldMs > 0) args.push(String(heldMs));
    if (uses) args.push(`${unstarted === true ? 1 : 0} ${holdMs ?? ""} ${spend}`);
    if (delayMs !== null) args.push(String(delayMs));
    if (typeof result === "string") args.push(result);
    if (error !== null && error !== undefined) args.push(encodeErrorText(error));
  }
  return [String(shapes.size), ...described, String(settlements.length), ...args];
}

/** A job to insert with the settlement of this number. */
interface Following {
  readonly number: number;
  readonly job: NewJob;
  readonly isCall: boolean;
}

/** The numbers of kinds have three digits: beside a follow-up job for each settlement, so many called jobs have one for certain. */
const MOST_CALLS = 10 ** KIND_DIGITS - 1 - MOST_PER_EXCHANGE;

/** The jobs that a call inserts: follow-up jobs, and those that suspended ones call in the same partition. */
export function followingOf(settlements: readonly Settlement[]): Following[] {
  const followUps = settlements.flatMap(({ followUp }, index) => (followUp ? { number: index + 1, job: followUp, isCall: false } : []));
  const calls = settlements.flatMap((settlement, index) => callsHere(settlement).map((job) => ({ number: index + 1, job, isCall: true })));
  return [...followUps, ...calls.slice(0, MOST_CALLS)];
}

function callsHere({ id, calls = [] }: Settlement): readonly NewJob[] {
  return calls.filter((job) => tenBitsOf(job.id) === tenBitsOf(id));
}

/** The arguments that EXCHANGE_STEPS has before those of EXCHANGE_FOLLOWED. Called jobs that it does not insert leave a notice. */
function encodeDurable(settlements: readonly Settlement[], following: readonly Following[]): string[] {
  const inserted = new Set(following.map(({ job }) => job));
  const entries = settlements.flatMap((settlement, index) => {
    if (!isDurable(settlement)) return [];
    const { waits = [], calls = [], notice } = settlement;
    const notices: Notice[] = calls.filter((job) => !inserted.has(job)).map((job) => ({ kind: "insert", job }));
    if (notice !== undefined) notices.push(notice);
    return [[String(index + 1), String(waits.length), ...waits.flatMap(encodeStep), String(notices.length), ...notices.map(encodeNotice)]];
  });
  const ifEnded = following.map(({ job, isCall }) => (isCall ? encodeNotice({ kind: "insert", job }) : ""));
  return [String(entries.length), ...entries.flat(), String(ifEnded.length), ...ifEnded];
}

// ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The answer of a script. */
export interface Answer extends GrantedIn {
  /** One for each settlement. */
  readonly letters: string;
  /** One for each look. */
  readonly claims: readonly Granted[];
  /** When each look may find a job that waits for a time. */
  readonly againInMs: readonly (number | null)[];
  readonly hints: Reply;
  /** How many notices it left. */
  readonly notices: number;
}

export function readAnswer(script: Script, reply: Reply): Answer {
  return script === EXCHANGE_PLAIN ? readPlain(reply) : readWhole(reply);
}

function readWhole(reply: Reply): Answer {
  const [now, letters, claims, lanes, failing, hints, notices = 0] = listOf(reply);
  return {
    ...readNames(now, lanes, failing),
    letters: textOf(letters),
    claims: listOf(claims).map(grantedOf),
    againInMs: listOf(claims).map((claim) => readAgain(listOf(claim)[2])),
    hints: hints!,
    notices: numberOf(notices),
  };
}

function readPlain(reply: Reply): Answer {
  const list = listOf(reply);
  const [recordsLength, lanesLength, failingLength, freedLength, letters, again, now] = list.slice(-TAIL);
  const freedAt = list.length - TAIL - numberOf(freedLength);
  const failingAt = freedAt - numberOf(failingLength);
  const lanesAt = failingAt - numberOf(lanesLength);
  const recordsAt = lanesAt - numberOf(recordsLength);
  return {
    ...readNames(now, list.slice(lanesAt, failingAt), list.slice(failingAt, freedAt)),
    letters: textOf(letters),
    claims: [grantedOf([list.slice(0, recordsAt), list.slice(recordsAt, lanesAt)])],
    againInMs: [readAgain(again)],
    hints: [...NO_HINTS, ...list.slice(freedAt, -TAIL)],
    notices: 0,
  };
}

/** How many values follow the lists in an answer of EXCHANGE_PLAIN. */
const TAIL = 7;
const NO_HINTS: readonly Reply[] = [-1, 0];

function readAgain(reply: Reply | undefined): number | null {
  const ms = numberOf(reply);
  return ms < 0 ? null : ms;
}

function readNames(now: Reply | undefined, lanes: Reply | undefined, failing: Reply | undefined): GrantedIn {
  return { now: numberOf(now), lanes: readLanes(lanes), withoutDeadLetters: new Set(listOf(failing).map(textOf)) };
}

function grantedOf(reply: Reply): Granted {
  const [jobs, records] = listOf(reply);
  return { jobs: listOf(jobs) as readonly Buffer[], records: listOf(records) as Granted["records"] };
}
