/**
 * MAKES THE SCHEMAS OF THE CONTRACT: plain JSON Schema, with the types of TypeBox. It has the same functions as the `Type` of TypeBox, which would load
 * 370 modules at the start of every server.
 */
import type { Type as TypeBox } from "typebox";

type Make = typeof TypeBox;
type Schema = Readonly<Record<string, unknown>>;

/** What `Optional` has made: copies, because the same schema may be required elsewhere. */
const optional = new WeakSet<object>();
/** The pattern of any key, as TypeBox types it. */
const ANY_KEY = "^.*$";

const make = {
  Array: (items: Schema, options?: Schema) => ({ type: "array", items, ...options }),
  Boolean: (options?: Schema) => ({ type: "boolean", ...options }),
  Enum: (values: readonly unknown[], options?: Schema) => ({ enum: values, ...options }),
  Integer: (options?: Schema) => ({ type: "integer", ...options }),
  Literal: (value: unknown, options?: Schema) => ({ type: typeof value, const: value, ...options }),
  Null: (options?: Schema) => ({ type: "null", ...options }),
  Number: (options?: Schema) => ({ type: "number", ...options }),
  Object: (properties: Readonly<Record<string, Schema>>, options?: Schema) => {
    const required = Object.keys(properties).filter((name) => !optional.has(properties[name]!));
    return { type: "object", ...(required.length > 0 ? { required } : {}), properties, ...options };
  },
  Optional: (schema: Schema) => {
    const copy = { ...schema };
    optional.add(copy);
    return copy;
  },
  Record: ({ pattern = ANY_KEY }: { readonly pattern?: string }, value: Schema, options?: Schema) => ({
    type: "object",
    patternProperties: { [pattern]: value },
    ...options,
  }),
  String: (options?: Schema) => ({ type: "string", ...options }),
  Union: (schemas: readonly Schema[], options?: Schema) => ({ anyOf: schemas, ...options }),
  Unknown: (options?: Schema) => ({ ...options }),
};

/** Each makes what the function of this name in TypeBox makes. A test compares them. */
export const Type = make as unknown as Pick<Make, keyof typeof make>;
