import { type ReactElement, useContext } from "react";
import { BUSIEST_KEYS } from "../../../../core/limits.ts";
import type { KeyLimitUse, QueueLimitUse } from "../../../api.ts";
import { count } from "../../../format.ts";
import { useHeld } from "../../../held.ts";
import { countOfKey, type QueueLimitState, rateText, usedOf } from "../../../limit-words.ts";
import { LimitKeyLink, Meter } from "../../../parts/bits.tsx";
import { type Column, DataTable } from "../../../parts/data-table.tsx";
import { visible } from "../../../safe-text.ts";
import { EditKey } from "./edit-key.ts";
import { EditKeyButton } from "./edit-key-button.tsx";
import { NextStart } from "./next-start.tsx";

/** A key of the queue. */
type KeyRow = KeyLimitUse & { readonly queue: string; readonly state: QueueLimitState };

const COLUMNS: readonly Column<KeyRow>[] = [
  {
    id: "key",
    title: "Key",
    cell: ({ queue, key }) => <LimitKeyLink queue={queue} limitKey={key} />,
    className: "max-w-64 min-w-32 font-medium",
    place: "title",
    sortBy: ({ key }) => key,
  },
  { id: "running", title: "Running", cell: (row) => <Running row={row} />, sortBy: ({ running }) => running },
  {
    id: "waiting",
    title: "Waiting",
    cell: ({ waiting, limits }) => <span className="whitespace-nowrap">{usedOf(countOfKey(waiting), limits.waiting)}</span>,
    end: true,
    sortBy: ({ waiting }) => waiting,
  },
  {
    id: "next",
    title: "Next start",
    cell: ({ state, running, limits, nextStartAt, heldUntil }) => (
      <NextStart queue={state} limitKey={{ running, limit: limits.running, nextStartAt, heldUntil }} />
    ),
  },
  {
    id: "rate",
    title: "Rate",
    cell: ({ limits }) => <span className={isRated(limits) ? "whitespace-nowrap" : "text-muted-foreground"}>{rateText(limits)}</span>,
    yields: 2,
    isEmpty: ({ limits }) => !isRated(limits),
  },
  {
    id: "weight",
    title: "Weight",
    cell: ({ limits }) => <span title="How many turns it gets in comparison with other keys">{count(limits.weight)}</span>,
    end: true,
    yields: 1,
    isEmpty: ({ limits }) => limits.weight === 1,
    sortBy: ({ limits }) => limits.weight,
  },
];

function isRated({ rate }: KeyLimitUse["limits"]): boolean {
  return rate !== null && rate !== undefined;
}

interface BusiestKeysProps {
  readonly use: QueueLimitUse;
  readonly state: QueueLimitState;
}

/** The keys with the most running jobs. */
export function BusiestKeys({ use: { queue, keys }, state }: BusiestKeysProps): ReactElement {
  const mayEdit = useContext(EditKey) !== null;
  const { shown, hold } = useHeld(keys);
  return (
    <div {...hold}>
      <h3 className="px-4 max-sm:px-3 pt-2.5 pb-0.5 text-xs font-medium text-muted-foreground">
        {shown.length < BUSIEST_KEYS ? "Keys with jobs, the busiest first" : `The ${BUSIEST_KEYS} busiest keys`}
      </h3>
      <DataTable
        caption="Busiest keys"
        rows={shown.map((key): KeyRow => ({ ...key, queue, state }))}
        columns={COLUMNS}
        keyOf={({ key }) => key}
        rowProps={({ key }) => ({ "data-key": key })}
        actions={mayEdit ? EditKeyButton : undefined}
      />
    </div>
  );
}

function Running({ row: { key, running, limits } }: { readonly row: KeyRow }): ReactElement {
  const { running: limit } = limits;
  return (
    <span className="flex items-center gap-2">
      {limit !== null && limit !== undefined && (
        <span className="w-12 shrink-0">
          <Meter value={running} of={limit} label={`${visible(key)}: running`} />
        </span>
      )}
      <span className="whitespace-nowrap">{usedOf(countOfKey(running), limit)}</span>
    </span>
  );
}
