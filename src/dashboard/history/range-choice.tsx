import type { ReactElement } from "react";
import { type Range, RANGES } from "./ranges.ts";

interface RangeChoiceProps<Name extends Range> {
  readonly range: Name;
  readonly onChange: (range: Name) => void;
  /** Its name, if a page has several. */
  readonly label?: string;
  /** Which ones to choose from. Default: all. */
  readonly ranges?: readonly Name[];
}

export function RangeChoice<Name extends Range>({
  range,
  onChange,
  label = "Time range",
  ranges = Object.keys(RANGES) as Name[],
}: RangeChoiceProps<Name>): ReactElement {
  return (
    <div role="group" aria-label={label} className="flex gap-0.5 rounded-md bg-muted p-0.5">
      {ranges.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={range === name}
          onClick={() => onChange(name)}
          className="h-6 rounded px-2 text-xs whitespace-nowrap text-muted-foreground aria-pressed:bg-accent aria-pressed:text-foreground"
        >
          {name}
        </button>
      ))}
    </div>
  );
}
