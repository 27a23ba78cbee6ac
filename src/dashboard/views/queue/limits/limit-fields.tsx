import type { ReactElement } from "react";
import { TextField } from "../../../parts/field.tsx";
import type { LimitField, LimitForm } from "./limit-form.ts";

interface LimitFieldsProps {
  readonly form: LimitForm;
  readonly set: (change: Partial<LimitForm>) => void;
  readonly names: readonly LimitField[];
  /** What an empty field means. */
  readonly empty: Readonly<Record<LimitField, string>>;
  readonly problems: Partial<Record<LimitField, string>>;
  /** Instead of the usual hint. */
  readonly hints?: Partial<Record<LimitField, string>>;
  /** Has the focus at first. */
  readonly first?: LimitField | undefined;
}

const LABELS: Readonly<Record<LimitField, string>> = {
  running: "Running at once",
  rate: "Rate",
  burst: "Burst",
  waiting: "Waiting",
  weight: "Weight",
};

const HINTS: Readonly<Record<LimitField, string>> = {
  running: "Over all workers.",
  rate: "Starts in a time, such as 100/s or 5000/h.",
  burst: "How many may start at once after a rest.",
  waiting: "Beyond that, new jobs are refused.",
  weight: "Turns in comparison with other keys: 1 to 100.",
};

const NUMBERS: readonly LimitField[] = ["running", "burst", "waiting", "weight"];

/** The fields of one set of limits, side by side if there is room. */
export function LimitFields({ form, set, names, empty, problems, hints = {}, first }: LimitFieldsProps): ReactElement {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      {names.map((name) => (
        <TextField
          key={name}
          label={LABELS[name]}
          value={form[name]}
          onChange={(value) => set({ [name]: value })}
          placeholder={empty[name]}
          problem={problems[name]}
          hint={hints[name] ?? HINTS[name]}
          first={name === first}
          {...(NUMBERS.includes(name) ? { inputMode: "numeric" as const } : {})}
        />
      ))}
    </div>
  );
}
