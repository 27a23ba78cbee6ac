/** The selected rows of a list, and its shortcuts. */
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import type { JobSummary } from "../../core/job.ts";
import { copyText } from "../copy-text.ts";
import { changeJob, changeJobs, isValid, type JobAction } from "../job-actions.ts";
import { useShortcuts } from "../keyboard.ts";
import { session } from "../session.ts";

export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly jobs: readonly JobSummary[];
  toggle(id: string, isRange?: boolean): void;
  toggleAll(): void;
  /** After an action on them: what the person selected while it ran stays selected. */
  unselect(jobs: readonly JobSummary[]): void;
  clear(): void;
}

/** A row that has left the list is no longer selected. */
export function useSelection(rows: readonly JobSummary[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  return useMemo(() => {
    const jobs = rows.filter(({ id }) => chosen.has(id));
    return {
      ids: new Set(jobs.map(({ id }) => id)),
      jobs,
      toggle(id, isRange = false) {
        const next = new Set(chosen);
        const from = rows.findIndex((row) => row.id === last.current);
        const to = rows.findIndex((row) => row.id === id);
        if (isRange && from !== -1) for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(row.id);
        else if (!next.delete(id)) next.add(id);
        last.current = id;
        setChosen(next);
      },
      toggleAll: () => setChosen(jobs.length === rows.length ? new Set() : new Set(rows.map(({ id }) => id))),
      unselect(changed) {
        const gone = new Set(changed.map(({ id }) => id));
        setChosen((now) => new Set([...now].filter((id) => !gone.has(id))));
      },
      clear: () => setChosen(new Set()),
    };
  }, [rows, chosen]);
}

interface ListKeys {
  readonly rows: readonly JobSummary[];
  readonly selection: Selection;
  readonly onNext: (() => void) | undefined;
  readonly onPrevious: (() => void) | undefined;
}

/** `j` and `k` move the focus over the links of the rows; the other keys act on the focused row. */
export function useListKeys({ rows, selection, onNext, onPrevious }: ListKeys): void {
  const navigate = useNavigate();
  const focused = (): JobSummary | undefined => {
    const id = document.activeElement?.closest("[data-job]")?.getAttribute("data-job");
    return rows.find((row) => row.id === id);
  };
  const move = (step: 1 | -1): void => {
    const at = focused();
    const next = at === undefined ? rows[0] : rows[rows.indexOf(at) + step];
    if (next !== undefined) document.querySelector<HTMLElement>(`[data-job="${next.id}"] a[data-open]`)?.focus();
  };
  const change = (...actions: readonly JobAction[]): void => {
    if (session.get().role === "viewer") return;
    const at = focused();
    if (selection.jobs.length > 0) {
      const action = actions.find((each) => selection.jobs.some(({ status }) => isValid(each, status)));
      if (action !== undefined) void changeJobs(action, selection.jobs).then((isDone) => isDone && selection.unselect(selection.jobs));
    } else if (at !== undefined) {
      const action = actions.find((each) => isValid(each, at.status));
      if (action !== undefined) void changeJob(action, at);
    }
  };
  const withFocused = (run: (job: JobSummary, event: KeyboardEvent) => void) => (event: KeyboardEvent) => {
    const job = focused();
    if (job !== undefined) run(job, event);
  };
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    x: withFocused(({ id }) => selection.toggle(id)),
    X: withFocused(({ id }) => selection.toggle(id, true)),
    o: withFocused(({ id }) => void navigate({ to: "/jobs/$id", params: { id } })),
    y: withFocused(({ id }) => void copyText(id, "Id")),
    r: () => change("retry", "start"),
    c: () => change("cancel"),
    Delete: () => change("delete"),
    n: () => onNext?.(),
    p: () => onPrevious?.(),
    Escape: () => selection.clear(),
  });
}
