import type { ReactElement } from "react";

interface ChoiceProps {
  readonly label: string;
  /** The empty one chooses nothing. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly (readonly [value: string, words: string])[];
}

/** One of several values, in a small list. */
export function Choice({ label, value, onChange, options }: ChoiceProps): ReactElement {
  return (
    <select
      aria-label={label}
      value={value}
      // Words that have no room end in an ellipsis.
      title={options.find(([option]) => option === value)?.[1]}
      onChange={(event) => onChange(event.target.value)}
      className={`h-8 min-w-0 rounded-md border border-input bg-card pr-7 pl-2.5 text-ellipsis ${value === "" ? "text-muted-foreground" : ""}`}
    >
      {options.map(([option, words]) => (
        <option key={option} value={option}>
          {words}
        </option>
      ))}
    </select>
  );
}
