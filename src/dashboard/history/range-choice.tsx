import type { ReactElement } from "react";
import { type Range, RANGES } from "./ranges.ts";

interface RangeChoiceProps {
  readonly range: Range;
  readonly onChange: (range: Range) => void;
}

export function RangeChoice({ range, onChange }: RangeChoiceProps): ReactElement {
  return (
    <div role="group" aria-label="Time range" className="flex gap-0.5 rounded-md bg-muted p-0.5">
      {(Object.keys(RANGES) as Range[]).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={range === name}
          onClick={() => onChange(name)}
          className="h-6 rounded px-2 text-xs text-muted-foreground aria-pressed:bg-accent aria-pressed:text-foreground"
        >
          {name}
        </button>
      ))}
    </div>
  );
}
