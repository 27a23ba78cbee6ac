/** SHORTCUTS: one key, or two in sequence (`g j`). They do nothing while somebody types, while a dialog is open, or if switched off. */
import { useEffect, useRef } from "react";
import { readPreference } from "./preferences.ts";

/** What a key does, by its name: `j`, `?`, `g j`, `Escape`. */
export type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const SEQUENCE_MS = 1000;
const layers: { current: Shortcuts }[] = [];
let first: { readonly key: string; readonly at: number } | null = null;

/** These shortcuts work while the component is shown. A later component overrides an earlier one. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const layer = useRef(shortcuts);
  useEffect(() => {
    layer.current = shortcuts;
  });
  useEffect(() => {
    layers.push(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, []);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand ? event.key.toLowerCase() !== "k" : !mayBeShortcut(event)) return;
  const key = isCommand ? "Mod+k" : event.key;
  const pair = first !== null && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ${key}` : null;
  first = null;
  const action = (pair === null ? undefined : find(pair)) ?? find(key);
  if (action !== undefined) {
    event.preventDefault();
    action(event);
  } else if (isFirstOfTwo(key)) first = { key, at: event.timeStamp };
});

function mayBeShortcut(event: KeyboardEvent): boolean {
  if (!readPreference("shortcuts") || document.querySelector("dialog[open]") !== null) return false;
  const target = event.target as HTMLElement;
  if (target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], [role=menu], [role=listbox]") !== null) return false;
  // Enter and Space belong to the button.
  return !(target.closest("button, a, summary") !== null && (event.key === "Enter" || event.key === " "));
}

function find(key: string): Shortcuts[string] | undefined {
  return layers.findLast((layer) => key in layer.current)?.current[key];
}

function isFirstOfTwo(key: string): boolean {
  return layers.some((layer) => Object.keys(layer.current).some((name) => name.startsWith(`${key} `)));
}
