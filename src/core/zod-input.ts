/**
 * WHAT ZOD ACCEPTS. zod may change a value before it checks it: `z.coerce.number()` takes "42", and `z.string().trim().max(3)` takes "abc   ". Its
 * JSON Schema tells what holds afterwards, and would refuse both. A published schema must not refuse what the definition accepts, so it leaves such
 * places open. It knows only what zod 4 shows of itself; nothing of zod is imported.
 */

interface ZodSchema {
  readonly _zod: { readonly def: ZodDefinition };
}

interface ZodDefinition {
  readonly type: string;
  readonly coerce?: boolean;
  /** The first step of a pipe; `z.preprocess` is one that begins with a transform. */
  readonly in?: ZodSchema;
  readonly checks?: readonly { readonly _zod: { readonly def: ZodCheck } }[];
  readonly pattern?: RegExp;
  /** The fields of an object. */
  readonly shape?: Readonly<Record<string, ZodSchema>>;
}

interface ZodCheck {
  readonly check: string;
  readonly pattern?: RegExp;
}

/** A part of the JSON Schema that zod has made, and the schema it is made of. */
interface MadePart {
  readonly zodSchema: ZodSchema;
  readonly jsonSchema: Record<string, unknown>;
}

/** What zod is told when it makes a JSON Schema. */
export const ZOD_OPTIONS: Readonly<Record<string, unknown>> = { override: leaveOpen };

/** These check nothing. */
const NOTES = ["title", "description", "default", "examples"];
/** A pattern in JSON Schema has no flags. */
const FLAGS_THAT_MATTER = /[imsv]/;

function leaveOpen({ zodSchema, jsonSchema }: MadePart): void {
  const { def } = zodSchema._zod;
  if (takesAnything(def)) keepOnly(jsonSchema, NOTES);
  else if (checksAnotherText(def)) keepOnly(jsonSchema, [...NOTES, "type"]);
  const { shape } = def;
  if (shape === undefined || !Array.isArray(jsonSchema.required)) return;
  jsonSchema.required = (jsonSchema.required as string[]).filter((name) => !takesNothing(shape[name]!._zod.def));
}

function takesAnything(def: ZodDefinition): boolean {
  return def.coerce === true || takesNothing(def) || (def.type !== "string" && isOverwritten(def));
}

/** Whether a field with this schema may be missing: what makes a value of anything makes one of nothing, too. */
function takesNothing({ type, in: first }: ZodDefinition): boolean {
  return type === "catch" || first?._zod.def.type === "transform";
}

function isOverwritten({ checks = [] }: ZodDefinition): boolean {
  return checks.some(({ _zod }) => _zod.def.check === "overwrite");
}

/** Whether a text is changed before it is checked, or compared with a pattern that JSON Schema cannot write. */
function checksAnotherText(def: ZodDefinition): boolean {
  const patterns = [def.pattern, ...(def.checks ?? []).map(({ _zod }) => _zod.def.pattern)];
  return isOverwritten(def) || patterns.some((pattern) => pattern !== undefined && FLAGS_THAT_MATTER.test(pattern.flags));
}

function keepOnly(jsonSchema: Record<string, unknown>, names: readonly string[]): void {
  for (const name of Object.keys(jsonSchema)) if (!names.includes(name)) delete jsonSchema[name];
}
