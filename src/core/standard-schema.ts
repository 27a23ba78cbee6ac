/** The part of the Standard Schema specification (v1) that we use; zod, valibot, arktype and others implement it. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema: the schema of the input as JSON Schema. Not every library has it; it throws if there is none. */
    readonly jsonSchema?: { readonly input: (options: JsonSchemaOptions) => Record<string, unknown> } | undefined;
  };
}

interface JsonSchemaOptions {
  readonly target: typeof JSON_SCHEMA_TARGET;
  /** Options of one library. */
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

/** The version of JSON Schema that we ask for. */
export const JSON_SCHEMA_TARGET = "draft-2020-12";

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The place in a payload, or in a result, that an issue is about: `payload`, `payload.to`, `payload.items[2].price`. */
export function fieldOfIssue(issue: StandardIssue, whole: "payload" | "result" = "payload"): string {
  const keys = (issue.path ?? []).map((step) => (typeof step === "object" ? step.key : step));
  return keys.reduce<string>((path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`), whole);
}
