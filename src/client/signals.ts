/** SIGNALS to jobs, and the steps of jobs as people see them. */
import { randomUUID } from "node:crypto";
import { auditEntry, detailsOf } from "../core/audit.ts";
import { MillraceError } from "../core/errors.ts";
import { encodeJson } from "../core/json.ts";
import { withTexts } from "../core/json-text.ts";
import { CHANGE_OPTIONS, readActor } from "../core/manual-change.ts";
import { detailOf, MAX_SIGNAL_ID_LENGTH, MAX_STEP_BYTES, readStepName, type StepEnd, type StepRecord } from "../core/steps.ts";
import type { Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import { readAllSteps, TAKES_SIGNALS } from "./calls.ts";
import type { JobStep, SignalAnswer } from "./client.ts";
import { heldElsewhere, jobNotFound, readId, readOptions, wrongStatus } from "./refusals.ts";

/**
 * Sends a signal. Resolves once it is stored. The audit is about people, so it has only signals that name who sent them: those of programs are part
 * of the work, and could be so many that nothing else would stay in it.
 */
export async function sendSignal(
  { store, announcer, clock, actor: usual, writeAudit }: ClientParts,
  id: string,
  name: string,
  payload: unknown,
  options: unknown,
): Promise<SignalAnswer> {
  const given = readOptions(options, "the options of signal", ["id", ...CHANGE_OPTIONS]);
  const actor = readActor(given, usual);
  const end: StepEnd = {
    id: readId(id),
    name: readStepName(name, "name"),
    kind: "wait",
    state: "done",
    value: payload === undefined ? null : encodeJson(payload, "payload", MAX_STEP_BYTES),
    by: readSignalId(given.id),
    life: null,
    from: TAKES_SIGNALS,
  };
  const [answer] = await store.endSteps([end]);
  switch (answer!.kind) {
    case "ok": {
      const { woke, type, queue } = answer!;
      if (woke && announcer.wanted()) announcer.publish([{ event: "job:resumed", at: clock.now(), jobId: id, type, queue, step: name }]);
      if (actor.by !== null)
        await writeAudit([auditEntry("job:signalled", actor, { jobId: id, queue, details: detailsOf({ type, signal: name }) })]);
      return { accepted: true };
    }
    case "late":
      return { accepted: false, reason: answer!.state === "timeout" ? "timed_out" : "already_received" };
    case "full":
      throw new MillraceError("invalid_input", `job ${id} keeps as many steps and signals as it can`, { field: "payload", jobId: id });
    case "refused":
      throw wrongStatus(id, answer!.status, "sent a signal", TAKES_SIGNALS);
    case "missing":
      throw jobNotFound(id);
    case "locked":
      throw heldElsewhere(`job ${id}`);
  }
}

function readSignalId(id: unknown): string {
  if (id === undefined) return randomUUID();
  if (typeof id === "string" && id !== "" && id.length <= MAX_SIGNAL_ID_LENGTH && id.isWellFormed()) return id;
  throw new MillraceError("invalid_input", `the id of a signal must be a text of 1 to ${MAX_SIGNAL_ID_LENGTH} characters`, { field: "id" });
}

/** The steps of a job in the order in which they began. */
export async function listSteps(store: Store, id: string): Promise<JobStep[]> {
  const read = await readAllSteps(store, readId(id), null);
  if (read === null) throw jobNotFound(id);
  return read.steps
    .map(toJobStep)
    .sort((one, other) => one.startedAt - other.startedAt || (one.endedAt ?? Infinity) - (other.endedAt ?? Infinity));
}

export function toJobStep(record: StepRecord): JobStep {
  const { name, kind, state, until, startedAt, endedAt, by, attempt } = record;
  const { runMs = null, call = null, schema = null, refused = [] } = detailOf(record);
  const value: unknown = record.value === null ? null : JSON.parse(record.value);
  const isError = state === "failed";
  const step: JobStep = {
    name,
    kind,
    state,
    value: isError ? null : value,
    error: isError ? (value as JobStep["error"]) : null,
    until,
    startedAt,
    endedAt,
    by,
    attempt,
    runMs,
    call,
    schema: schema as JobStep["schema"],
    refused,
  };
  return isError ? step : withTexts(step, "null", record.value);
}
