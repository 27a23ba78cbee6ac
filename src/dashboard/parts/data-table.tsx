/** A TABLE of rows; on a narrow screen, cards. */
import { ChevronRight } from "lucide-react";
import { type ComponentType, Fragment, type HTMLAttributes, type ReactElement, type ReactNode, useState } from "react";
import { useIsNarrow } from "./narrow.ts";
import { type Sorting, SortTh, Table, Td, Th } from "./table.tsx";
import { useYielding } from "./yielding.ts";

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly end?: boolean;
  readonly className?: string;
  /** Its place in a card, if not among the named values. */
  readonly place?: "title" | "corner";
  /** If the table is too wide, columns move below the title: first those with a number, the lowest first, then the others from the end. */
  readonly yields?: number;
  /** Whether a row has nothing here: a card leaves it out, and so does the place below the title. */
  readonly isEmpty?: (row: Row) => boolean;
  /** The value to sort by. Absent: rows cannot be sorted by this column. */
  readonly sortBy?: (row: Row) => string | number;
}

interface DataTableProps<Row> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Attributes and listeners of each row. */
  readonly rowProps?: (row: Row) => HTMLAttributes<HTMLElement> & Readonly<Record<`data-${string}`, string>>;
  /** Before each row, and in the header. */
  readonly lead?: { readonly head: ReactNode; readonly cell: (row: Row) => ReactNode } | undefined;
  /** Buttons at the end of each row. */
  readonly actions?: ComponentType<{ readonly row: Row }> | undefined;
  readonly details?: Details<Row> | undefined;
}

/** What opens below a row. */
interface Details<Row> {
  /** The label of the button that opens it. */
  readonly label: (row: Row) => string;
  readonly body: ComponentType<{ readonly row: Row }>;
  /** Whether a row has details. Default: all have. */
  readonly has?: (row: Row) => boolean;
  /** Rows that are open from the start. Default: none. */
  readonly isOpenAtFirst?: (row: Row) => boolean;
}

export function DataTable<Row>(props: DataTableProps<Row>): ReactElement {
  const isNarrow = useIsNarrow();
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const by = props.columns.find(({ id }) => id === sorting?.by)?.sortBy;
  const rows = by === undefined || sorting === null ? props.rows : sorted(props.rows, by, sorting.descending);
  return isNarrow ? <Cards {...props} rows={rows} /> : <Rows {...props} rows={rows} sorting={sorting} onSort={setSorting} />;
}

function sorted<Row>(rows: readonly Row[], by: (row: Row) => string | number, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((a, b) => (by(a) === by(b) ? 0 : by(a) < by(b) ? -sign : sign));
}

interface RowsProps<Row> extends DataTableProps<Row> {
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
}

function Rows<Row>({
  caption,
  rows,
  columns,
  keyOf,
  rowProps,
  lead,
  actions: Actions,
  details,
  sorting,
  onSort,
}: RowsProps<Row>): ReactElement {
  const able = yieldingColumns(columns);
  const { place, yielding } = useYielding(able.length);
  const below = able.slice(0, yielding);
  const shown = columns.filter((column) => !below.includes(column));
  const width = shown.length + Number(lead !== undefined) + Number(Actions !== undefined) + Number(details !== undefined);
  return (
    <Table caption={caption} place={place}>
      <thead>
        <tr>
          {details !== undefined && (
            <Th className="w-px">
              <span className="sr-only">Details</span>
            </Th>
          )}
          {lead !== undefined && <Th className="w-px">{lead.head}</Th>}
          {shown.map(({ id, title, end = false, sortBy }) =>
            sortBy === undefined ? (
              <Th key={id} end={end}>
                {title}
              </Th>
            ) : (
              <SortTh key={id} name={id} sorting={sorting} onSort={onSort} end={end}>
                {title}
              </SortTh>
            ),
          )}
          {Actions !== undefined && (
            <Th>
              <span className="sr-only">Actions</span>
            </Th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <OpenableRow key={keyOf(row)} row={row} details={details} width={width}>
            {(opener) => {
              const { className = "", ...marks } = rowProps?.(row) ?? {};
              return (
                <tr {...marks} className={`border-t transition-colors hover:bg-muted/60 ${className}`}>
                  {opener !== null && <Td>{opener}</Td>}
                  {lead !== undefined && <Td>{lead.cell(row)}</Td>}
                  {shown.map(({ id, cell, end = false, className: look = "", place: at }) => (
                    <Td key={id} end={end} className={look}>
                      {cell(row)}
                      {at === "title" && below.length > 0 && <Below row={row} columns={below} />}
                    </Td>
                  ))}
                  {Actions !== undefined && (
                    <Td end>
                      <Actions row={row} />
                    </Td>
                  )}
                </tr>
              );
            }}
          </OpenableRow>
        ))}
      </tbody>
    </Table>
  );
}

/** The columns that can move below the title, the first to do so first. */
function yieldingColumns<Row>(columns: readonly Column<Row>[]): readonly Column<Row>[] {
  if (columns.every(({ place }) => place !== "title")) return [];
  const others = columns.filter(({ place }) => place !== "title").toReversed();
  return others.toSorted((a, b) => (a.yields ?? columns.length) - (b.yields ?? columns.length));
}

/** The values of columns that had no room. */
function Below<Row>({ row, columns }: { readonly row: Row; readonly columns: readonly Column<Row>[] }): ReactElement {
  return (
    <dl className="flex flex-wrap gap-x-3 pb-1 text-xs font-normal text-muted-foreground">
      {columns
        .filter(({ isEmpty }) => isEmpty?.(row) !== true)
        .map(({ id, title, cell }) => (
          <div key={id} className="flex items-center gap-1">
            <dt>{title}</dt>
            <dd>{cell(row)}</dd>
          </div>
        ))}
    </dl>
  );
}

interface OpenableRowProps<Row> {
  readonly row: Row;
  readonly details: DataTableProps<Row>["details"];
  readonly width: number;
  /** Draws the row, with the button that opens it. */
  readonly children: (opener: ReactNode) => ReactNode;
}

function OpenableRow<Row>({ row, details, width, children }: OpenableRowProps<Row>): ReactElement {
  const [isOpen, setOpen] = useState(details?.isOpenAtFirst?.(row) ?? false);
  if (details === undefined) return <>{children(null)}</>;
  const { label, body: Body, has = () => true } = details;
  const isThere = has(row);
  return (
    <>
      {children(isThere ? <Opener label={label(row)} isOpen={isOpen} onClick={() => setOpen(!isOpen)} /> : <span />)}
      {isOpen && isThere && (
        <tr>
          {/* Long lines scroll inside it: they must not widen the table. */}
          <td colSpan={width} className="max-w-0 px-4 pb-4">
            <Body row={row} />
          </td>
        </tr>
      )}
    </>
  );
}

function Opener({
  label,
  isOpen,
  onClick,
}: {
  readonly label: string;
  readonly isOpen: boolean;
  readonly onClick: () => void;
}): ReactElement {
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      aria-label={label}
      onClick={onClick}
      className="grid size-6 place-items-center rounded hover:bg-accent"
    >
      <ChevronRight aria-hidden className={`size-4 text-muted-foreground transition-transform ${isOpen ? "rotate-90" : ""}`} />
    </button>
  );
}

function Cards<Row>({ caption, rows, columns, keyOf, rowProps, lead, actions, details }: DataTableProps<Row>): ReactElement {
  return (
    <ul aria-label={caption} className="divide-y">
      {rows.map((row) => {
        const { className = "", ...marks } = rowProps?.(row) ?? {};
        return (
          <li key={keyOf(row)} {...marks} className={`flex gap-3 p-3 ${className}`}>
            {lead !== undefined && <div className="pt-0.5">{lead.cell(row)}</div>}
            <CardBody row={row} columns={columns} actions={actions} details={details} />
          </li>
        );
      })}
    </ul>
  );
}

function CardBody<Row>({
  row,
  columns,
  actions: Actions,
  details,
}: Pick<DataTableProps<Row>, "columns" | "actions" | "details"> & { readonly row: Row }): ReactElement {
  const [isOpen, setOpen] = useState(details?.isOpenAtFirst?.(row) ?? false);
  const Body = details?.body;
  const hasMore = details !== undefined && (details.has?.(row) ?? true);
  return (
    <div className="min-w-0 flex-1">
      <div className="flex min-h-6 items-center justify-between gap-2">
        <div className="min-w-0 font-medium">{placed(columns, "title", row)}</div>
        <div className="flex shrink-0 items-center gap-1">
          {placed(columns, "corner", row)}
          {hasMore && <Opener label={details.label(row)} isOpen={isOpen} onClick={() => setOpen(!isOpen)} />}
        </div>
      </div>
      <dl className="mt-1 flex flex-wrap items-baseline gap-x-4 gap-y-1">
        {columns
          .filter(({ place, isEmpty }) => place === undefined && isEmpty?.(row) !== true)
          .map(({ id, title, cell }) => (
            <div key={id} className="flex max-w-full min-w-0 items-baseline gap-1.5">
              <dt className="shrink-0 text-xs text-muted-foreground">{title}</dt>
              <dd className="min-w-0 break-words">{cell(row)}</dd>
            </div>
          ))}
      </dl>
      {Actions !== undefined && (
        <div className="mt-2 flex gap-2">
          <Actions row={row} />
        </div>
      )}
      {isOpen && hasMore && Body !== undefined && (
        <div className="mt-3">
          <Body row={row} />
        </div>
      )}
    </div>
  );
}

function placed<Row>(columns: readonly Column<Row>[], place: "title" | "corner", row: Row): ReactNode {
  return columns.filter((column) => column.place === place).map(({ id, cell }) => <Fragment key={id}>{cell(row)}</Fragment>);
}
