import { type ReactElement, type ReactNode, useContext } from "react";
import { counted } from "../../../../core/counted.ts";
import type { KeyLimitsEntry, KeyLimitsPage } from "../../../api.ts";
import { count, NOTHING } from "../../../format.ts";
import { Pager } from "../../../job-list/pager.tsx";
import { NO_LIMIT, rateText } from "../../../limit-words.ts";
import { LimitKeyLink } from "../../../parts/bits.tsx";
import { type Column, DataTable } from "../../../parts/data-table.tsx";
import { type EditedKey, EditKey, WITHOUT_KEY } from "./edit-key.ts";
import { EditKeyButton } from "./edit-key-button.tsx";

type OwnRow = KeyLimitsEntry & EditedKey & { readonly queue: string };
type LimitName = "running" | "rate" | "waiting" | "weight";

const TITLES: Readonly<Record<LimitName, string>> = { running: "Running", rate: "Rate", waiting: "Waiting", weight: "Weight" };

const COLUMNS: readonly Column<OwnRow>[] = [
  {
    id: "key",
    title: "Key",
    cell: ({ queue, key }) => (key === null ? WITHOUT_KEY : <LimitKeyLink queue={queue} limitKey={key} />),
    className: "max-w-64 min-w-32 font-medium",
    place: "title",
  },
  ...(["running", "rate", "waiting", "weight"] as const).map((name): Column<OwnRow> => ({
    id: name,
    title: TITLES[name],
    cell: ({ limits }) => limitText(limits, name),
    end: name !== "rate",
    isEmpty: ({ limits }) => limits[name] === undefined,
  })),
];

/** What a key has not for itself is as for every key. */
function limitText(limits: KeyLimitsEntry["limits"], name: LimitName): ReactNode {
  const value = limits[name];
  if (value === undefined) return <span className="text-muted-foreground">{NOTHING}</span>;
  if (value === null) return NO_LIMIT;
  return typeof value === "string" ? <span className="whitespace-nowrap">{rateText(limits)}</span> : count(value);
}

interface OwnLimitsProps {
  readonly queue: string;
  readonly page: KeyLimitsPage;
  /** Of the pages after the first, up to this one. */
  readonly cursors: readonly string[];
  readonly onTurn: (cursors: readonly string[]) => void;
}

/** Keys with limits of their own, page by page. */
export function OwnLimits({ queue, page: { keys, cursor }, cursors, onTurn }: OwnLimitsProps): ReactElement {
  const mayEdit = useContext(EditKey) !== null;
  const isFirst = cursors.length === 0;
  return (
    <div>
      <h3 className="px-4 max-sm:px-3 pt-2.5 pb-0.5 text-xs font-medium text-muted-foreground">Keys with limits of their own</h3>
      <DataTable
        caption="Keys with limits of their own"
        rows={keys.map((entry): OwnRow => ({ ...entry, own: entry.limits, queue }))}
        columns={COLUMNS}
        keyOf={({ key }) => JSON.stringify(key)}
        actions={mayEdit ? EditKeyButton : undefined}
      />
      {(!isFirst || cursor !== null) && (
        <Pager
          onFirst={isFirst ? undefined : () => onTurn([])}
          onPrevious={isFirst ? undefined : () => onTurn(cursors.slice(0, -1))}
          onNext={cursor === null ? undefined : () => onTurn([...cursors, cursor])}
        >
          {counted(keys.length, "key")} on this page
        </Pager>
      )}
    </div>
  );
}
