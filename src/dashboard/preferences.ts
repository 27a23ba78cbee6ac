/** What this browser remembers: how the page looks, and what was last typed. Losing it costs nothing. */
import { useSyncExternalStore } from "react";

/** Each preference with its default. */
const DEFAULTS = {
  theme: "dark" as "dark" | "light" | "system",
  /** Ids of columns of the list of jobs, in order. */
  columns: ["id", "type", "queue", "priority", "status", "attempt", "created", "duration"] as readonly string[],
  pageSize: 50,
  /** Single keys act as shortcuts. */
  shortcuts: true,
  /** A toast for each job that fails for good. */
  jobToasts: false,
  /** A notification of new dead jobs while the page is in the background. */
  deadAlerts: false,
  /** Filters of lists under a name: see saved-views.ts. */
  views: [] as readonly object[],
  /** The payload that was last sent, by type. */
  payloads: {} as Readonly<Record<string, string>>,
};

type Preferences = typeof DEFAULTS;
export type PreferenceName = keyof Preferences;

const PREFIX = "millrace:";
const listeners = new Set<() => void>();
const known = new Map<PreferenceName, unknown>();

// Another tab wrote it. What is known here is old: the next change of it would write it back.
window.addEventListener("storage", ({ key }) => {
  for (const name of known.keys()) if (key === null || key === PREFIX + name) known.delete(name);
  for (const listener of listeners) listener();
});

export function readPreference<Name extends PreferenceName>(name: Name): Preferences[Name] {
  if (!known.has(name)) known.set(name, readStored(name) ?? DEFAULTS[name]);
  return known.get(name) as Preferences[Name];
}

export function setPreference<Name extends PreferenceName>(name: Name, value: Preferences[Name]): void {
  known.set(name, value);
  try {
    localStorage.setItem(PREFIX + name, typeof value === "string" ? value : JSON.stringify(value));
  } catch {
    // A browser that stores nothing still shows the choice.
  }
  for (const listener of listeners) listener();
}

/** A preference and how to change it. */
export function usePreference<Name extends PreferenceName>(name: Name): [Preferences[Name], (value: Preferences[Name]) => void] {
  const value = useSyncExternalStore(subscribe, () => readPreference(name));
  return [value, (next) => setPreference(name, next)];
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Stored values may be from an older version, or edited by hand: one of another type than the default is ignored. */
function readStored(name: PreferenceName): unknown {
  try {
    const text = localStorage.getItem(PREFIX + name);
    if (text === null) return undefined;
    const fallback = DEFAULTS[name];
    if (typeof fallback === "string") return text;
    const value: unknown = JSON.parse(text);
    return typeof value === typeof fallback && Array.isArray(value) === Array.isArray(fallback) && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
