import type { ReactElement, ReactNode } from "react";
import type { LimitOptions } from "../../../../core/limits.ts";
import type { QueueLimitUse } from "../../../api.ts";
import { count } from "../../../format.ts";
import { NO_LIMIT, type QueueLimitState, rateText, usedOf } from "../../../limit-words.ts";
import { Meter } from "../../../parts/bits.tsx";
import { Fact } from "../queue-facts.tsx";
import { NextStart } from "./next-start.tsx";

/** The limits of the whole queue with their use, and those of each key. */
export function LimitFacts({ use, state }: { readonly use: QueueLimitUse; readonly state: QueueLimitState }): ReactElement {
  const { running: limit, perKey, ...starts }: LimitOptions = use.limits ?? {};
  return (
    <div className="grid gap-x-8 px-4 py-2 sm:grid-cols-2">
      <Facts title="Whole queue">
        <Fact name="Running">
          <RunningUse running={use.running} limit={limit} label="running, of the limit of the queue" />
        </Fact>
        <Fact name="Rate">{orNone(starts.rate, () => rateText(starts))}</Fact>
        <Fact name="Next start">
          <NextStart queue={state} />
        </Fact>
      </Facts>
      <Facts title="Each key">
        <Fact name="Running">{orNone(perKey?.running, (most) => `at most ${count(most)}`)}</Fact>
        <Fact name="Rate">{orNone(perKey?.rate, () => rateText(perKey ?? {}))}</Fact>
        <Fact name="Waiting">{orNone(perKey?.waiting, (most) => `at most ${count(most)}`)}</Fact>
      </Facts>
    </div>
  );
}

function Facts({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <div>
      <h3 className="pt-1 text-xs font-medium text-muted-foreground">{title}</h3>
      <dl>{children}</dl>
    </div>
  );
}

interface RunningUseProps {
  readonly running: number;
  readonly limit: number | null | undefined;
  readonly label: string;
}

/** How many run, of how many may. */
function RunningUse({ running, limit, label }: RunningUseProps): ReactElement {
  if (limit === null || limit === undefined) {
    return (
      <>
        {count(running)} <span className="text-muted-foreground">({NO_LIMIT})</span>
      </>
    );
  }
  return (
    <span className="flex items-center justify-end gap-2.5">
      <span className="w-24 shrink-0">
        <Meter value={running} of={limit} label={label} />
      </span>
      <span className="whitespace-nowrap">{usedOf(count(running), limit)}</span>
    </span>
  );
}

function orNone<Value>(limit: Value | null | undefined, words: (limit: Value) => string): ReactNode {
  return limit === null || limit === undefined ? <span className="text-muted-foreground">{NO_LIMIT}</span> : words(limit);
}
