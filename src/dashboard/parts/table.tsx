/** Tables, with a caption for screen readers. */
import { ArrowDown, ArrowUp } from "lucide-react";
import type { ReactElement, ReactNode, RefObject, ThHTMLAttributes } from "react";

interface TableProps {
  readonly caption: string;
  readonly children: ReactNode;
  /** The element that scrolls if the table is too wide. */
  readonly place?: RefObject<HTMLDivElement | null>;
}

export function Table({ caption, children, place }: TableProps): ReactElement {
  return (
    // Can have the focus, so that the keyboard can scroll it.
    <div ref={place} className="scroll-x relative" role="region" aria-label={caption} tabIndex={0}>
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">{caption}</caption>
        {children}
      </table>
    </div>
  );
}

interface HeadProps extends ThHTMLAttributes<HTMLTableCellElement> {
  readonly end?: boolean;
}

const HEAD = "h-9 px-2.5 text-xs font-medium whitespace-nowrap text-muted-foreground first:pl-4 last:pr-4";

export function Th({ end = false, className = "", ...rest }: HeadProps): ReactElement {
  return <th scope="col" className={`${HEAD} ${end ? "text-right" : ""} ${className}`} {...rest} />;
}

export interface Sorting {
  /** The id of the column. */
  readonly by: string;
  readonly descending: boolean;
}

interface SortThProps {
  readonly name: string;
  /** Null: rows have their original order. */
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
  readonly end?: boolean;
  readonly children: ReactNode;
}

/** A column header that sorts: numbers start with the largest, names with the first. */
export function SortTh({ name, sorting, onSort, end = false, children }: SortThProps): ReactElement {
  const isOn = sorting?.by === name;
  const isDown = isOn && sorting.descending;
  const Arrow = isDown ? ArrowDown : ArrowUp;
  return (
    <th scope="col" aria-sort={isOn ? (isDown ? "descending" : "ascending") : "none"} className={`${HEAD} ${end ? "text-right" : ""}`}>
      <button
        type="button"
        onClick={() => onSort({ by: name, descending: isOn ? !isDown : end })}
        className={`relative inline-flex min-h-6 items-center rounded hover:text-foreground ${isOn ? "text-foreground" : ""}`}
      >
        {children}
        {isOn && <Arrow aria-hidden className={`absolute size-3 ${end ? "-left-3.5" : "-right-3.5"}`} />}
      </button>
    </th>
  );
}

export function Td({
  end = false,
  className = "",
  children,
  title,
}: {
  readonly end?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
  readonly title?: string;
}): ReactElement {
  return (
    <td title={title} className={`h-10 px-2.5 py-1 first:pl-4 last:pr-4 ${end ? "text-right" : ""} ${className}`}>
      {children}
    </td>
  );
}

/** The classes of a row. */
export const ROW = "border-t transition-colors hover:bg-muted/60";
