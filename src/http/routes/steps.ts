/** Durable work: the steps of a job, and signals to it. */
import { stringifyJson } from "../../core/json-text.ts";
import type { stepRoutes } from "../contract/steps.ts";
import { checkSignal } from "../fit-schema.ts";
import { changeOptionsOf, type Handlers, ok, type RouteParts } from "../route-input.ts";
import { written } from "../wire/job-text.ts";
import { toStepWire } from "../wire/step.ts";

export function stepHandlers({ client }: RouteParts): Handlers<keyof typeof stepRoutes> {
  return {
    async "GET /api/v1/jobs/{id}/steps"({ params: { id } }) {
      return ok(written(stringifyJson({ steps: (await client.steps(id)).map(toStepWire) })));
    },

    async "POST /api/v1/jobs/{id}/signals/{name}"(input) {
      const { params, body } = input;
      const { id, name } = params;
      checkSignal(await client.steps(id), name, body?.payload);
      return ok(await client.signal(id, name, body?.payload, { id: body?.id, ...changeOptionsOf(input) }));
    },
  };
}
