import { type ReactElement, useMemo, useState } from "react";
import { shortDecimal } from "../../format.ts";
import { type Figure, HistoryCard } from "../../history/history-card.tsx";
import { RangeChoice } from "../../history/range-choice.tsx";
import { RANGES } from "../../history/ranges.ts";
import { useFormerWorkers, useWorkers } from "../../queries.ts";
import { serverNow } from "../../server-time.ts";
import { slotsOverTime, type UsePoint } from "../../slot-use.ts";
import type { Worker } from "../../api.ts";

const FIGURES: readonly Figure<UsePoint>[] = [
  { name: "in use", colour: "--primary", filled: true, of: ({ busy }) => busy },
  { name: "slots", colour: "--muted-foreground", of: ({ slots }) => slots },
];

/** Workers report no more. */
const REPORTED = ["1 h", "24 h"] as const;

/** How many slots these workers had, and how many were in use. Workers that have ended are counted for the time in which they ran. */
export function SlotsOverTime({ isMine }: { readonly isMine: (worker: Pick<Worker, "queues" | "types">) => boolean }): ReactElement | null {
  const [range, setRange] = useState<(typeof REPORTED)[number]>("1 h");
  const workers = useWorkers();
  const { data: former = [] } = useFormerWorkers(true);
  const points = useMemo(
    () => workers.data && slotsOverTime([...workers.data, ...former].filter(isMine), RANGES[range].step, serverNow()),
    [workers.data, former, range, isMine],
  );
  if (points?.every(({ slots }) => slots === 0) === true) return null;
  return (
    <HistoryCard
      title="Slots in use"
      caption="Slots in use over time, the latest first"
      figures={FIGURES}
      result={{ ...workers, data: points }}
      valueText={shortDecimal}
      aside={<RangeChoice range={range} onChange={setRange} label="How far back" ranges={REPORTED} />}
    />
  );
}
