/** WHAT A SUSPENDED ATTEMPT WAITS FOR, from the wire. */
import { invalid, MillraceError } from "../../core/errors.ts";
import { JOB_DEFAULTS, type JobOptions, readJobOptions } from "../../core/job-options.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "../../core/json.ts";
import { textsIn } from "../../core/json-source.ts";
import { JsonText } from "../../core/json-text.ts";
import type { Outcome } from "../../core/lifecycle.ts";
import { readSchema } from "../../core/payload-schema.ts";
import { type CallRequest, MAX_WAIT_SCHEMA_BYTES, type NewStep, readStepName } from "../../core/steps.ts";
import type { WaitWire } from "../contract/lease-steps.ts";
import { missing, readDelay } from "./read-parts.ts";
import { readNewJob } from "./new-job.ts";

/** `given` is a JsonText, as the contract keeps it. Throws `invalid_input` for the first wait that lacks what its kind needs. */
export function readSuspension(given: unknown, place: string, now: number): Outcome & { readonly kind: "suspend" } {
  if (!(given instanceof JsonText)) return missing(`${place}.waits`, "what the attempt waits for");
  const wires = given.value as readonly WaitWire[];
  const payloads = textsIn(`{"waits":${given.text}}`, { list: "waits", fields: ["payload"] }).values();
  const names = new Set<string>();
  const waits: NewStep[] = [];
  const calls: CallRequest[] = [];
  for (const [index, wire] of wires.entries()) {
    const at = `${place}.waits[${index}]`;
    const name = readStepName(wire.name, `${at}.name`);
    if (names.has(name)) throw invalid(`${at}.name`, "a name that no other wait of the outcome has", name);
    names.add(name);
    const payload = Object.hasOwn(wire, "payload") ? payloads.next().value!.text : "null";
    refuseOthers(wire, at);
    waits.push(readWait(wire, name, at));
    if (wire.kind === "call" && wire.open !== true) calls.push(readCall(wire, name, payload, at, now));
  }
  return { kind: "suspend", waits, calls };
}

/** Which kind each field is for. */
const KINDS = {
  delay: ["sleep", "wait"],
  schema: ["wait"],
  type: ["call"],
  payload: ["call"],
  options: ["call"],
  open: ["call"],
} as const satisfies Partial<Record<keyof WaitWire, readonly WaitWire["kind"][]>>;

/** A field that does nothing is probably a mistake. */
function refuseOthers(wire: WaitWire, at: string): void {
  for (const [field, kinds] of Object.entries(KINDS)) {
    const value = wire[field as keyof typeof KINDS];
    if (value === undefined || (kinds as readonly string[]).includes(wire.kind)) continue;
    throw new MillraceError("invalid_input", `${at}.${field} is only for a ${kinds.join(" or a ")}`, { field: `${at}.${field}` });
  }
}

function readWait({ kind, delay, schema }: WaitWire, name: string, at: string): NewStep {
  const untilMs = readDelay(delay, `${at}.delay`) ?? null;
  if (kind === "sleep" && untilMs === null) return missing(`${at}.delay`, "how long to sleep");
  const detail = schema === undefined ? null : `{"schema":${readSchema(schema, `${at}.schema`, MAX_WAIT_SCHEMA_BYTES).text}}`;
  return { name, kind, state: "open", value: null, untilMs, detail };
}

function readCall({ type, options = {} }: WaitWire, step: string, payload: string, at: string, now: number): CallRequest {
  if (type === undefined) return missing(`${at}.type`, "which job to call");
  const { options: read } = readNewJob(options, null);
  checkOptions(read, `${at}.options`, now);
  return { step, type, payload: encodeJson(new JsonText(payload, undefined), `${at}.payload`, MAX_PAYLOAD_BYTES), options: read };
}

/** Refused here, so that the worker hears of it; later, the attempt would fail. */
function checkOptions(given: JobOptions & { readonly unset?: unknown }, field: string, now: number): void {
  const { unset: _, ...options } = given;
  try {
    readJobOptions(options, JOB_DEFAULTS, now);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    throw new MillraceError("invalid_input", `${field}: ${error.message}`, { field: `${field}.${error.field ?? ""}` });
  }
}
