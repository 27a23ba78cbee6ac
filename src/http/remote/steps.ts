/** Signals and steps over HTTP. */
import type { JobStep, SignalAnswer } from "../../client/client.ts";
import { encodeJson } from "../../core/json.ts";
import { MAX_STEP_BYTES } from "../../core/steps.ts";
import { fromStepsAnswer } from "../wire/step.ts";
import { changeQuery } from "./change-query.ts";
import { readId } from "./ids.ts";
import { readPathName } from "./path-name.ts";
import type { Transport } from "./transport.ts";
import { wireText } from "./wire-text.ts";

export async function listRemoteSteps(transport: Transport, id: string): Promise<JobStep[]> {
  const { body, text } = await transport.ask("GET /api/v1/jobs/{id}/steps", { params: { id: readId(id) }, repeatable: true });
  return fromStepsAnswer(body.steps, text);
}

/** The signal has an id, so it may be sent again if the answer was lost. */
export async function sendRemoteSignal(
  transport: Transport,
  id: string,
  name: string,
  payload: unknown,
  options: unknown,
): Promise<SignalAnswer> {
  const { query, given } = changeQuery(options, "the options of signal", ["id"]);
  const params = { id: readId(id), name: readPathName(name, "signal") };
  const signal: Record<string, string> = payload === undefined ? {} : { payload: encodeJson(payload, "payload", MAX_STEP_BYTES) };
  const body = wireText({ id: given.id ?? randomId() }, signal);
  return (await transport.ask("POST /api/v1/jobs/{id}/signals/{name}", { params, query, body, repeatable: true })).body;
}

/** Also in browsers, where `randomUUID` exists only on pages that came by https. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
