/** CHECKS of values from outside, put together from small ones. A check that passes allocates nothing; one that fails says where and why. */
export type Check = (value: unknown) => Fault | null;

export interface Fault {
  /** The place inside the checked value: `.outcome.kind`, `[3].id`, or empty for the value itself. */
  readonly path: string;
  readonly mustBe: string;
  readonly got: unknown;
}

export function is(mustBe: string, test: (value: unknown) => boolean): Check {
  return (value) => (test(value) ? null : { path: "", mustBe, got: value });
}

export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Check {
  const upTo = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return is(`a whole number ${upTo}`, (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max);
}

export function text(maxLength: number): Check {
  return is(`a string of at most ${maxLength} characters`, (value) => typeof value === "string" && value.length <= maxLength);
}

export function oneOf(values: readonly unknown[]): Check {
  return is(values.map(String).join(", "), (value) => values.includes(value));
}

export function nullable(check: Check): Check {
  return (value) => (value === null ? null : check(value));
}

export function optional(check: Check): Check {
  return (value) => (value === undefined ? null : check(value));
}

/** An object with at least these fields. */
export function shape(fields: Readonly<Record<string, Check>>): Check {
  const names = Object.keys(fields);
  const checks = Object.values(fields);
  return (value) => {
    if (typeof value !== "object" || value === null) return { path: "", mustBe: "an object", got: value };
    for (let index = 0; index < checks.length; index++) {
      const fault = checks[index]!((value as Record<string, unknown>)[names[index]!]);
      if (fault !== null) return { ...fault, path: `.${names[index]}${fault.path}` };
    }
    return null;
  };
}

export function listOf(check: Check, min: number, max: number): Check {
  return (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      return { path: "", mustBe: `a list of ${min} to ${max} items`, got: value };
    }
    for (let index = 0; index < value.length; index++) {
      const fault = check(value[index]);
      if (fault !== null) return { ...fault, path: `[${index}]${fault.path}` };
    }
    return null;
  };
}
