import { ArrowUp } from "lucide-react";
import type { ReactElement } from "react";
import { counted } from "../../core/counted.ts";
import { live } from "../live.ts";

/** Tells of jobs that came since, instead of moving those that are read. */
export function FreshBar({ fresh, limit }: { readonly fresh: number; readonly limit: number }): ReactElement {
  return (
    <div role="status">
      {fresh > 0 && (
        <button
          type="button"
          onClick={() => live.lookNow()}
          className="flex w-full items-center justify-center gap-1.5 border-b bg-primary/10 py-1.5 font-medium text-primary hover:bg-primary/15"
        >
          <ArrowUp aria-hidden className="size-3.5" />
          {fresh >= limit ? `${fresh} or more new jobs` : counted(fresh, "new job")}, show
        </button>
      )}
    </div>
  );
}
