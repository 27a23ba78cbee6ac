/** How an attempt ended, as JSON text for the server. */
import type { Report } from "../../client/client.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { Outcome } from "../../core/lifecycle.ts";
import { mergeOptions } from "../../core/merge-options.ts";
import { type CallRequest, detailOf, type NewStep } from "../../core/steps.ts";
import { onlyDefaults } from "./only-defaults.ts";
import { wireText } from "./wire-text.ts";

/** The result is already JSON text. `defaults` are those of the client, for jobs that the attempt calls. */
export function outcomeText({ id, fence, outcome, heldMs, spend, unstarted }: Report, defaults: JobOptions): string {
  const said: Record<string, unknown> = { id, fence, outcome: outcome.kind };
  if ("runMs" in outcome) said["run_ms"] = outcome.runMs;
  if (heldMs !== undefined) said["held_ms"] = heldMs;
  if (spend !== undefined) said["spend"] = spend;
  if (unstarted !== undefined) said["unstarted"] = unstarted;
  if ("delayMs" in outcome) said["delay"] = outcome.delayMs;
  if ("error" in outcome) said["error"] = outcome.error;
  const text = JSON.stringify(said);
  if (outcome.kind === "suspend") return `${text.slice(0, -1)},"waits":${waitsText(outcome, defaults)}}`;
  return outcome.kind === "completed" && outcome.result !== null ? `${text.slice(0, -1)},"result":${outcome.result}}` : text;
}

function waitsText({ waits, calls }: Outcome & { readonly kind: "suspend" }, defaults: JobOptions): string {
  const called = new Map(calls.map((call) => [call.step, call]));
  return `[${waits.map((wait) => waitText(wait, called.get(wait.name), defaults)).join(",")}]`;
}

/** A call without a request was made by an earlier attempt. */
function waitText(wait: NewStep, request: CallRequest | undefined, defaults: JobOptions): string {
  const { name, kind, untilMs } = wait;
  if (kind !== "call") {
    const { schema } = detailOf(wait);
    return JSON.stringify({ name, kind, delay: untilMs ?? undefined, schema });
  }
  if (request === undefined) return JSON.stringify({ name, kind, open: true });
  const { type, payload, options } = request;
  // The step is the key of a call, so a default time for keys means nothing here.
  const { idempotencyKey: _, keyTtl: __, ...merged } = mergeOptions(defaults, options);
  const said = wireText({ ...merged, ...onlyDefaults(defaults, options) });
  return `${JSON.stringify({ name, kind, type }).slice(0, -1)},"payload":${payload},"options":${said}}`;
}
