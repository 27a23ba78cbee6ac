/** The filters of the list. Each is written into the URL as soon as it is set. */
import { useNavigate } from "@tanstack/react-router";
import { ListFilter } from "lucide-react";
import { type ReactElement, useEffect, useState } from "react";
import { parseDuration } from "../../../core/duration.ts";
import { STATUSES } from "../../../core/job.ts";
import { knownValues } from "../../frame/known-values.ts";
import { searchText } from "../../find-jobs.ts";
import { FILTER_NAMES, type FilterName, type JobSearch, SPANS, statusesIn, statusWord } from "../../job-search.ts";
import { useKnownQueues, useKnownTypes } from "../../known-names.ts";
import { ActiveFilters } from "../../parts/active-filters.tsx";
import { Button } from "../../parts/button.tsx";
import { Choice } from "../../parts/choice.tsx";
import { InternalSwitch } from "../../parts/internal-switch.tsx";
import { useIsNarrow } from "../../parts/narrow.ts";
import { LEVELS } from "../../parts/priority.tsx";
import { Suggest } from "../../parts/suggest.tsx";
import { useGroupWords } from "../../queries.ts";
import { visible } from "../../safe-text.ts";
import { readTypedTime, typedTime } from "../../typed-time.ts";
import { readWhere, writeWhere } from "../../where-text.ts";

/** Filters that have a field here; the status has its tabs. */
const SHOWN: readonly FilterName[] = ["q", "type", "queue", "priority", "tag", "limit_key", "where", "ended", "from", "to", "internal"];

interface FilterBarProps {
  readonly search: JobSearch;
  /** Filters that the page sets by itself. */
  readonly fixed?: readonly FilterName[];
  /** The label of the filter by the end, on pages of jobs that have ended. */
  readonly ended?: string | undefined;
}

/** On a narrow screen, the fields are folded away. */
export function FilterBar({ search, fixed = [], ended }: FilterBarProps): ReactElement {
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  const set = useFilter();
  const error = useGroupWords(search.group);
  // A single status has a tab; several together have none.
  const hasTab = STATUSES.some((status) => statusWord(status) === search.status);
  const given = FILTER_NAMES.filter((name) => search[name] !== undefined && !fixed.includes(name) && !(name === "status" && hasTab));
  return (
    <div className="space-y-2">
      {isNarrow && (
        <Button icon={ListFilter} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Filters{given.length > 0 && ` (${given.length})`}
        </Button>
      )}
      {(!isNarrow || isOpen) && (
        <div className="grid grid-cols-[repeat(auto-fit,minmax(9rem,1fr))] gap-2 lg:max-w-6xl">
          <Fields search={search} set={set} shown={SHOWN.filter((name) => !fixed.includes(name))} ended={ended} />
        </div>
      )}
      <ActiveFilters
        filters={given.map((name) => ({
          name,
          label: CHIP_NAMES[name] ?? name,
          value: name === "group" ? visible(error) : chipValue(name, search[name] ?? ""),
        }))}
        onRemove={(names) => set(Object.fromEntries(names.map((name) => [name, undefined])))}
      />
    </div>
  );
}

/** Changes filters in the current URL, and goes to the newest page. */
function useFilter(): (change: Partial<Record<FilterName, string | undefined>>) => void {
  const navigate = useNavigate();
  return (change) => void navigate({ to: ".", search: (before) => ({ ...before, ...change, cursor: undefined }), replace: true });
}

interface FieldsProps {
  readonly search: JobSearch;
  readonly set: ReturnType<typeof useFilter>;
  readonly shown: readonly FilterName[];
  readonly ended: string | undefined;
}

function Fields({ search, set, shown, ended }: FieldsProps): ReactElement {
  const types = useKnownTypes();
  const queues = useKnownQueues();
  const has = (name: FilterName): boolean => shown.includes(name);
  return (
    <>
      {has("q") && <TypedFilter label="Text in the job" name="q" items={[]} search={search} set={set} />}
      {has("type") && <TypedFilter label="Type" name="type" items={types} search={search} set={set} />}
      {has("queue") && <TypedFilter label="Queue" name="queue" items={queues} search={search} set={set} />}
      {has("priority") && (
        <Choice
          label="Priority"
          value={search.priority ?? ""}
          onChange={(priority) => set({ priority: priority || undefined })}
          options={[["", "Any priority"], ...LEVELS.map((level) => [level, level] as const)]}
        />
      )}
      {has("tag") && <TypedFilter label="Tag" name="tag" items={[]} search={search} set={set} />}
      {has("limit_key") && <TypedFilter label="Limit key" name="limit_key" items={knownValues().limitKeys} search={search} set={set} />}
      {has("where") && <WhereInput value={search.where ?? ""} onChange={(where) => set({ where })} />}
      {ended !== undefined && has("ended") && (
        <Choice
          label={ended}
          value={search.ended ?? ""}
          onChange={(span) => set({ ended: span || undefined })}
          options={[["", `${ended} any time`], ...spansWith(search.ended).map(([name, words]) => [name, `${ended} ${words}`] as const)]}
        />
      )}
      {has("from") && <TimeFilter search={search} set={set} />}
      {has("internal") && (
        <InternalSwitch checked={search.internal === "true"} onChange={(isOn) => set({ internal: isOn ? "true" : undefined })} />
      )}
    </>
  );
}

/** The spans to choose from, in words, and the given value if it is none of them: a choice that shows another would be false. */
function spansWith(given: string | undefined): readonly (readonly [value: string, words: string])[] {
  const spans = SPANS.map(([name, words]) => [name, `in the ${words}`] as const);
  if (given === undefined || SPANS.some(([name]) => name === given)) return spans;
  return [...spans, [given, `${parseDuration(given) === null ? "since" : "in the last"} ${typedTime(given)}`]];
}

interface TypedFilterProps {
  readonly label: string;
  readonly name: FilterName;
  readonly items: readonly string[];
  readonly search: JobSearch;
  readonly set: ReturnType<typeof useFilter>;
}

/** How long after the last key the typed text is used. */
const TYPED_MS = 350;

function TypedFilter({ label, name, items, search, set }: TypedFilterProps): ReactElement {
  const given = search[name] ?? "";
  const [text, setText] = useState(given);
  const [seen, setSeen] = useState(given);
  // The URL was changed by something else: a link, or the back button.
  if (seen !== given) {
    setSeen(given);
    setText(given);
  }
  useEffect(() => {
    // What a link says is kept as it is, with the spaces around it.
    if (text === given) return;
    const wanted = name === "q" ? searchText(text) : text.trim();
    if (wanted === given) return;
    const timer = window.setTimeout(() => set({ [name]: wanted || undefined }), TYPED_MS);
    return () => window.clearTimeout(timer);
  });
  return <Suggest label={label} compact placeholder={label} value={text} onChange={setText} items={items} />;
}

function TimeFilter({ search, set }: Pick<FieldsProps, "search" | "set">): ReactElement {
  const { from = "", to = "" } = search;
  const isSpan = from === "" || SPANS.some(([name]) => name === from);
  const [isAsked, setAsked] = useState(false);
  // Whatever is in the URL is shown, also if a link or the back button put it there.
  const isOwn = isAsked || !isSpan || to !== "";
  return (
    <>
      <Choice
        label="Created"
        value={isOwn ? "own" : from}
        onChange={(value) => {
          setAsked(value === "own");
          set({ from: value === "own" ? undefined : value || undefined, to: undefined });
        }}
        options={[["", "Created any time"], ...SPANS.map(([name, words]) => [name, words] as const), ["own", "From … to …"]]}
      />
      {isOwn && (
        <>
          <MomentInput label="Created at or after" value={from} onChange={(value) => set({ from: value })} />
          <MomentInput label="Created before" value={to} onChange={(value) => set({ to: value })} />
        </>
      )}
    </>
  );
}

interface WholeInputProps {
  readonly label: string;
  readonly title: string;
  readonly placeholder: string;
  /** As it is in the URL, and as it is shown. */
  readonly value: string;
  readonly shown: string;
  /** Null if the text is not valid. */
  readonly read: (text: string) => string | null;
  readonly onChange: (value: string | undefined) => void;
}

/** A field whose text is used once it is whole: by Enter, or when the field is left. */
function WholeInput({ label, title, placeholder, value, shown, read: readText, onChange }: WholeInputProps): ReactElement {
  const [text, setText] = useState(shown);
  const [seen, setSeen] = useState(shown);
  // The URL was changed by something else: a link, or the back button.
  if (seen !== shown) {
    setSeen(shown);
    setText(shown);
  }
  const read = text.trim() === "" ? undefined : readText(text);
  const use = (): void => {
    if (read !== null && read !== (value || undefined)) onChange(read);
  };
  return (
    <input
      type="text"
      aria-label={label}
      aria-invalid={read === null}
      title={title}
      placeholder={placeholder}
      spellCheck={false}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={use}
      onKeyDown={(event) => {
        if (event.key === "Enter") use();
      }}
      className="h-8 min-w-0 rounded-md border border-input bg-card px-2.5 aria-invalid:border-destructive"
    />
  );
}

type ValueProps = Pick<WholeInputProps, "value" | "onChange">;

function MomentInput({ label, value, onChange }: ValueProps & { readonly label: string }): ReactElement {
  return (
    <WholeInput
      label={label}
      title={`${label}: a time back from now such as 2h, or a day with or without a time`}
      placeholder="2h, 2026-11-15 10:00"
      value={value}
      shown={typedTime(value)}
      read={readTypedTime}
      onChange={onChange}
    />
  );
}

function WhereInput({ value, onChange }: ValueProps): ReactElement {
  return (
    <WholeInput
      label="Payload field"
      title="A payload field and its value, such as customer:globex; several with commas between them"
      placeholder="Payload field:value"
      value={value}
      shown={value}
      read={(text) => writeWhere(readWhere(text) ?? {}) ?? null}
      onChange={onChange}
    />
  );
}

/** Names of filters whose name in the URL says too little. */
const CHIP_NAMES: Partial<Record<string, string>> = { q: "text", limit_key: "limit key", where: "payload", group: "error group" };

/** `failed` finds dead jobs, too: the chip names every status. */
function chipValue(name: FilterName, value: string): string {
  if (name === "from" || name === "to" || name === "ended") return typedTime(value);
  if (name === "limit_key") return visible(value);
  return name === "status" ? (statusesIn(value)?.join(", ") ?? value) : value;
}
