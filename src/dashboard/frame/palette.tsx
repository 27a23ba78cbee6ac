/** THE COMMAND PALETTE: find any page or action by typing a part of its name. */
import { useNavigate } from "@tanstack/react-router";
import { Bookmark, CornerDownLeft, Filter, Hash, Layers, type LucideIcon, Pause, Play, Plus, Radio, Search, Sun } from "lucide-react";
import { type KeyboardEvent, type ReactElement, useId, useState } from "react";
import { STATUSES } from "../../core/job.ts";
import { isId, readQuery } from "../find-jobs.ts";
import { searchOfQueue, statusWord } from "../job-search.ts";
import { isPaused } from "../paused.ts";
import { closeOverlay, overlay } from "../overlay.ts";
import { Dialog } from "../parts/dialog.tsx";
import { STATUS_ICONS } from "../parts/status-badge.tsx";
import { useQueues } from "../queries.ts";
import { pauseQueue, resumeQueue } from "../queue-actions.ts";
import { useSavedViews } from "../saved-views.ts";
import { session } from "../session.ts";
import { THEMES, useTheme } from "../theme.ts";
import { useWatched } from "../use-watched.ts";
import { PAGES } from "./nav.tsx";

interface Entry {
  readonly name: string;
  readonly group: "Go to" | "Actions" | "Jobs" | "Queues" | "Views";
  readonly icon: LucideIcon;
  readonly run: () => void;
}

const MAX_SHOWN = 50;

/** Loaded with the frame, because users type as soon as they open it. */
export function Palette(): ReactElement {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const typed = useTyped(text);
  const found = matching(useEntries(), text).slice(0, MAX_SHOWN - 1);
  // Plain text most likely means an entry; jobs that contain it come after those.
  const entries = text.includes(":") || isId(text.trim()) ? [...typed, ...found] : [...found, ...typed];
  const chosen = Math.min(at, entries.length - 1);

  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    closeOverlay();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((chosen + step + entries.length) % entries.length);
    else if (event.key === "Enter") run(entries[chosen]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog title="Command palette" hideTitle onClose={closeOverlay}>
      <div className="flex items-center gap-2.5 border-b px-4">
        <Search aria-hidden className="size-4 shrink-0 text-muted-foreground" />
        <input
          role="combobox"
          aria-label="Search pages and actions"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={entries.length === 0 ? undefined : `${listId}-${chosen}`}
          data-first
          autoComplete="off"
          spellCheck={false}
          placeholder="Find a page, queue or action, or paste a job id…"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
          className="h-12 w-full bg-transparent text-base text-ellipsis outline-none"
        />
      </div>
      <ul id={listId} role="listbox" aria-label="Results" className="h-80 overflow-y-auto p-1.5 max-sm:h-64">
        {entries.map((entry, index) => (
          <PaletteRow
            key={`${entry.group} ${entry.name}`}
            id={`${listId}-${index}`}
            entry={entry}
            isChosen={index === chosen}
            onChoose={() => setAt(index)}
            onRun={() => run(entry)}
          />
        ))}
        {entries.length === 0 && <li className="px-3 py-8 text-center text-muted-foreground">No results.</li>}
      </ul>
    </Dialog>
  );
}

interface RowProps {
  readonly id: string;
  readonly entry: Entry;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly onRun: () => void;
}

function PaletteRow({ id, entry, isChosen, onChoose, onRun }: RowProps): ReactElement {
  const { icon: Icon, name, group } = entry;
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the input handles the keys: the focus never leaves it
    <li
      id={id}
      role="option"
      aria-selected={isChosen}
      tabIndex={-1}
      ref={(row) => {
        if (isChosen) row?.scrollIntoView({ block: "nearest" });
      }}
      onPointerMove={onChoose}
      onClick={onRun}
      className="flex h-9 cursor-default items-center gap-3 rounded-md px-2.5 aria-selected:bg-accent"
    >
      <Icon aria-hidden className="size-4 shrink-0 text-muted-foreground" />
      <span title={name} className="min-w-0 flex-1 truncate">
        {name}
      </span>
      <span className="text-xs text-muted-foreground">{group}</span>
      <CornerDownLeft aria-hidden className={`size-3.5 text-muted-foreground ${isChosen ? "" : "invisible"}`} />
    </li>
  );
}

/** What the text itself means: a job id, or filters and text to search for. */
function useTyped(text: string): Entry[] {
  const navigate = useNavigate();
  const typed = text.trim();
  if (isId(typed)) {
    const id = typed.toLowerCase();
    return [{ name: `Job ${id}`, group: "Go to", icon: Hash, run: () => void navigate({ to: "/jobs/$id", params: { id } }) }];
  }
  if (typed === "") return [];
  return [{ name: `Jobs with ${typed}`, group: "Jobs", icon: Filter, run: () => void navigate({ to: "/jobs", search: readQuery(typed) }) }];
}

function useEntries(): Entry[] {
  const navigate = useNavigate();
  const { data: queues = [] } = useQueues();
  const { role } = useWatched(session);
  const paused = useWatched(isPaused);
  const [, setTheme] = useTheme();
  const pages = PAGES.map(({ label, to, icon }): Entry => ({
    name: label,
    group: "Go to",
    icon,
    run: () => void navigate({ to: to ?? "/" }),
  }));
  const lists = STATUSES.map((status): Entry => ({
    name: `Jobs that are ${status}`,
    group: "Jobs",
    icon: STATUS_ICONS[status],
    run: () => void navigate({ to: "/jobs", search: { status: statusWord(status) } }),
  }));
  const saved = useSavedViews().map(({ name, page, search }): Entry => ({
    name,
    group: "Views",
    icon: Bookmark,
    run: () => void navigate({ to: page, search }),
  }));
  const queuePages = queues.map(({ name }): Entry => ({
    name: `Queue ${name}`,
    group: "Go to",
    icon: Layers,
    run: () => void navigate({ to: "/queues/$queue", params: { queue: name } }),
  }));
  const byQueue = queues.map(({ name }): Entry => ({
    name: `Jobs in ${name}`,
    group: "Queues",
    icon: Layers,
    run: () => void navigate({ to: "/jobs", search: searchOfQueue(name) }),
  }));
  const changes = queues.map(({ name, paused: isHeld }): Entry =>
    isHeld
      ? { name: `Resume ${name}`, group: "Actions", icon: Play, run: () => void resumeQueue(name) }
      : { name: `Pause ${name}`, group: "Actions", icon: Pause, run: () => void pauseQueue(name) },
  );
  const views: Entry[] = [
    { name: paused ? "Resume live updates" : "Pause live updates", group: "Actions", icon: Radio, run: () => isPaused.set(!paused) },
    ...THEMES.map((theme): Entry => ({ name: `Theme: ${theme}`, group: "Actions", icon: Sun, run: () => setTheme(theme) })),
  ];
  if (role === "viewer") return [...pages, ...saved, ...queuePages, ...byQueue, ...lists, ...views];
  const enqueue: Entry = { name: "Enqueue a job", group: "Actions", icon: Plus, run: () => overlay.set({ kind: "enqueue" }) };
  return [...pages, enqueue, ...saved, ...queuePages, ...byQueue, ...lists, ...changes, ...views];
}

/** Entries that contain every typed word; those that start with the first one come first. */
function matching(entries: readonly Entry[], text: string): Entry[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return [...entries];
  const found = entries.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const starts = (entry: Entry): number => (entry.name.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  return found.sort((a, b) => starts(a) - starts(b));
}
