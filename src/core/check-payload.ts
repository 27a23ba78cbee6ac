import { messageOf, MillraceError } from "./errors.ts";
import { fieldOfIssue, type StandardResult, type StandardSchemaV1 } from "./standard-schema.ts";

/**
 * Checks a payload against its schema. The caller's own value is stored, not the schema's output: the schema runs again before the handler,
 * and its output need not be valid input. Returns a promise only if the schema does.
 */
export function checkPayload(schema: StandardSchemaV1, payload: unknown): void | Promise<void> {
  const result = runSchema(schema, payload);
  if (!(result instanceof Promise)) return refuseIssues(result);
  return result.then(refuseIssues, (error: unknown) => {
    throw schemaFailed(error);
  });
}

function runSchema(schema: StandardSchemaV1, payload: unknown): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  try {
    return schema["~standard"].validate(payload);
  } catch (error) {
    throw schemaFailed(error);
  }
}

function refuseIssues(result: StandardResult<unknown>): void {
  const issue = result.issues?.[0];
  if (issue === undefined) return;
  const field = fieldOfIssue(issue);
  throw new MillraceError("invalid_input", `${field}: ${issue.message}`, { field, cause: result.issues });
}

function schemaFailed(error: unknown): MillraceError {
  return new MillraceError("invalid_input", `payload could not be checked because its schema threw: ${messageOf(error)}`, {
    field: "payload",
    cause: error,
  });
}
