/** The position in a list. The cursor is in the URL; the cursors of the pages before are in the browser's history. */
import { useLocation, useNavigate } from "@tanstack/react-router";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** The cursors of the pages before this one, the first page first; it has none itself. */
    trail?: readonly string[];
  }
}

/** Where you can go from this page; undefined if there is nothing. */
export interface Paging {
  readonly next: (() => void) | undefined;
  readonly previous: (() => void) | undefined;
  readonly first: (() => void) | undefined;
}

/** `next` is the cursor of the page after this one. */
export function usePaging(cursor: string | undefined, next: string | null | undefined): Paging {
  const navigate = useNavigate();
  const { state } = useLocation();
  const trail = state.trail ?? [];
  const go = (to: string | undefined, way: readonly string[]): void =>
    void navigate({ to: ".", search: (search) => ({ ...search, cursor: to }), state: (before) => ({ ...before, trail: way }) });
  const isFirst = cursor === undefined;
  return {
    next: typeof next === "string" ? () => go(next, [...trail, cursor ?? ""]) : undefined,
    previous: trail.length > 0 ? () => go(trail.at(-1) || undefined, trail.slice(0, -1)) : undefined,
    first: isFirst ? undefined : () => go(undefined, []),
  };
}
