/** The filters that are set: each can be removed, or all of them. */
import { X } from "lucide-react";
import type { ReactElement } from "react";

interface ActiveFiltersProps<Name extends string> {
  readonly filters: readonly { readonly name: Name; readonly label: string; readonly value: string }[];
  readonly onRemove: (names: readonly Name[]) => void;
}

export function ActiveFilters<Name extends string>({ filters, onRemove }: ActiveFiltersProps<Name>): ReactElement | null {
  if (filters.length === 0) return null;
  return (
    <ul aria-label="Active filters" className="flex flex-wrap gap-1.5">
      {filters.map(({ name, label, value }) => (
        <Chip key={name} label={label} value={value} onRemove={() => onRemove([name])} />
      ))}
      <li>
        <button
          type="button"
          onClick={() => onRemove(filters.map(({ name }) => name))}
          className="h-6 rounded px-1.5 text-muted-foreground hover:text-foreground"
        >
          Clear all
        </button>
      </li>
    </ul>
  );
}

function Chip({ label, value, onRemove }: { readonly label: string; readonly value: string; readonly onRemove: () => void }): ReactElement {
  return (
    <li className="inline-flex h-6 max-w-full items-center rounded-md bg-secondary pl-2 text-xs">
      <span title={value} className="truncate">
        <span className="text-muted-foreground">{label}</span> {value}
      </span>
      <button
        type="button"
        aria-label={`Remove the filter ${label}`}
        onClick={onRemove}
        className="grid size-6 shrink-0 place-items-center rounded text-muted-foreground hover:text-foreground"
      >
        <X aria-hidden className="size-3" />
      </button>
    </li>
  );
}
