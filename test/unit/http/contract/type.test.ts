import { Type as TypeBox } from "typebox";
import { expect, test } from "vitest";
import { Type } from "../../../../src/http/contract/type.ts";

/** A schema of each kind, and what makes them differ. Both builders have the same functions, and the same types. */
function everyKind(make: typeof Type): object {
  const name = make.String({ pattern: "^[a-z]+$", description: "a name" });
  return make.Object(
    {
      array: make.Array(name, { minItems: 1 }),
      boolean: make.Boolean(),
      enum: make.Enum(["a", "b"], { description: "one of a, b" }),
      integer: make.Integer({ minimum: 0 }),
      text: make.Literal("*"),
      number: make.Literal(7),
      truth: make.Literal(true, { description: "always" }),
      null: make.Null(),
      amount: make.Number({ maximum: 1 }),
      required: name,
      optional: make.Optional(name),
      inner: make.Object({ all: make.Optional(make.Boolean()), are: make.Optional(make.Null()) }),
      record: make.Record(make.String({ maxLength: 4 }), make.Unknown(), { maxProperties: 2 }),
      named: make.Record(name, make.Number()),
      union: make.Union([make.Optional(name), make.Null()], { description: "a name or null" }),
      unknown: make.Unknown({ description: "any" }),
    },
    { additionalProperties: false },
  );
}

test("makes what the builder of TypeBox makes, with fields in the same order", () => {
  expect(JSON.stringify(everyKind(Type), null, 2)).toBe(JSON.stringify(everyKind(TypeBox), null, 2));
});
