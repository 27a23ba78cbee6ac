/** DURABLE WORK OVER HTTP: what a running attempt keeps and reads. */
import { encodeJson } from "../../core/json.ts";
import { readSchema } from "../../core/payload-schema.ts";
import { MAX_LINK_PAYLOAD_BYTES, readLinkTtl } from "../../core/signal-links.ts";
import { MAX_STEP_BYTES, MAX_WAIT_SCHEMA_BYTES, type NewStep, readStepName, type StepDetail } from "../../core/steps.ts";
import type { leaseStepRoutes, StepInputWire } from "../contract/lease-steps.ts";
import { type Handlers, ok, type RouteParts } from "../route-input.ts";
import { written } from "../wire/job-text.ts";
import { leaseStepText } from "../wire/step.ts";
import { fromTime, toTime } from "../wire/values.ts";
import { readDelay } from "./read-parts.ts";

export function leaseStepHandlers({ client: { leases } }: RouteParts): Handlers<keyof typeof leaseStepRoutes> {
  return {
    async "POST /api/v1/leases/steps"({ body: { id, fence, steps } }) {
      const answer = await leases.keepSteps({ id, fence, steps: steps.map((step, index) => readStep(step, `steps[${index}]`)) });
      return ok(answer === "ok" ? { id, ok: true } : { id, ok: false, code: answer });
    },

    async "POST /api/v1/leases/steps/read"({ body: { id, fence } }) {
      const read = await leases.readSteps({ id, fence });
      if (read === null) return ok({ id, ok: false, code: "stale" });
      return ok(written(`{"id":"${id}","ok":true,"now":"${toTime(read.now)}","steps":[${read.steps.map(leaseStepText).join(",")}]}`));
    },

    async "POST /api/v1/leases/signal-url"({ body: { id, name, ttl, payload } }) {
      const text = payload === undefined ? null : encodeJson(payload, "payload", MAX_LINK_PAYLOAD_BYTES);
      return ok({ url: await leases.signalUrl(id, readStepName(name, "name"), readLinkTtl(ttl), text) });
    },
  };
}

function readStep(given: StepInputWire, place: string): NewStep {
  const name = readStepName(given.name, `${place}.name`);
  if (given.kind === "wait") return openAgain(given, name, place);
  // A JsonText, as the contract keeps it.
  const value = given.value === undefined ? null : encodeJson(given.value, `${place}.value`, MAX_STEP_BYTES);
  const detail = given.run_ms === undefined ? null : JSON.stringify({ runMs: Math.round(given.run_ms) } satisfies StepDetail);
  return { name, kind: "step", state: "done", value, untilMs: null, detail };
}

function openAgain({ delay, schema, refused = [] }: StepInputWire, name: string, place: string): NewStep {
  const detail: StepDetail = {
    ...(schema === undefined ? {} : { schema: JSON.parse(readSchema(schema, `${place}.schema`, MAX_WAIT_SCHEMA_BYTES).text) as unknown }),
    refused: refused.map(({ at, by, error }) => ({ at: typeof at === "number" ? at : fromTime(at), by, error })),
  };
  return {
    name,
    kind: "wait",
    state: "open",
    value: null,
    untilMs: readDelay(delay, `${place}.delay`) ?? null,
    detail: JSON.stringify(detail),
  };
}
