/** Pages by cursors, so that every page costs the same. */
import { ArrowLeft, ArrowRight, ChevronsLeft } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { Button } from "../parts/button.tsx";
import { usePreference } from "../preferences.ts";

const SIZES = [25, 50, 100, 200];

interface PagerProps {
  /** Undefined if there is nothing in that direction. */
  readonly onFirst: (() => void) | undefined;
  readonly onPrevious: (() => void) | undefined;
  readonly onNext: (() => void) | undefined;
  readonly children: ReactNode;
}

export function Pager({ onFirst, onPrevious, onNext, children }: PagerProps): ReactElement {
  const [size, setSize] = usePreference("pageSize");
  return (
    <div data-pager="" className="flex flex-wrap items-center gap-x-3 gap-y-2 border-t px-4 py-2">
      <p className="min-w-40 flex-1 text-muted-foreground">{children}</p>
      <label className="flex items-center gap-2 text-muted-foreground max-sm:hidden">
        Rows
        <select
          value={size}
          onChange={(event) => setSize(Number(event.target.value))}
          className="h-8 rounded-md border border-input bg-card pr-6 pl-2 text-foreground"
        >
          {SIZES.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <div className="flex gap-1">
        <Button look="quiet" icon={ChevronsLeft} disabled={onFirst === undefined} onClick={onFirst}>
          First
        </Button>
        <Button icon={ArrowLeft} disabled={onPrevious === undefined} onClick={onPrevious}>
          Previous
        </Button>
        <Button disabled={onNext === undefined} onClick={onNext}>
          Next
          <ArrowRight aria-hidden className="size-3.5" />
        </Button>
      </div>
    </div>
  );
}
