/** SAVED VIEWS: filters of a list under a name, in this browser. To share one, send its link: the URL has all filters. */
import type { JobSearch } from "./job-search.ts";
import { setPreference, usePreference } from "./preferences.ts";

export interface SavedView {
  readonly name: string;
  readonly page: "/jobs" | "/dead";
  readonly search: JobSearch;
}

/** The views of this browser. Stored values may be from another version, or edited by hand. */
export function useSavedViews(): readonly SavedView[] {
  const [stored] = usePreference("views");
  return (stored as readonly Partial<SavedView>[]).filter(isView);
}

function isView(view: Partial<SavedView> | null): view is SavedView {
  return (
    typeof view?.name === "string" &&
    (view.page === "/jobs" || view.page === "/dead") &&
    typeof view.search === "object" &&
    view.search !== null
  );
}

/** Saves a view; another of its name is replaced. */
export function saveView(views: readonly SavedView[], view: SavedView): void {
  const others = views.filter(({ name }) => name !== view.name);
  setPreference(
    "views",
    [...others, view].sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
}

export function deleteView(views: readonly SavedView[], name: string): void {
  setPreference(
    "views",
    views.filter((view) => view.name !== name),
  );
}

/** The filters of a view are the same, in any order. */
export function isSameView(view: SavedView, page: SavedView["page"], search: JobSearch): boolean {
  const text = (filters: JobSearch): string => JSON.stringify(Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return view.page === page && text(view.search) === text(search);
}
