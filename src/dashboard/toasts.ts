/** Short messages about what was just done. They disappear by themselves. */
import type { ReactNode } from "react";
import { Watched } from "./watched.ts";

export interface Toast {
  readonly id: number;
  readonly kind: "done" | "failed" | "news";
  readonly text: ReactNode;
  /** Undoes the change, if that is possible. */
  readonly undo?: () => void;
}

/** The messages that are shown, the oldest first. */
export const toasts = new Watched<readonly Toast[]>([]);

const MAX_SHOWN = 4;
let lastId = 0;

export function toast(text: ReactNode, more: { readonly kind?: Toast["kind"]; readonly undo?: () => void } = {}): void {
  const { kind = "done", undo } = more;
  const next: Toast = undo === undefined ? { id: ++lastId, kind, text } : { id: ++lastId, kind, text, undo };
  toasts.set([...toasts.get(), next].slice(-MAX_SHOWN));
}

export function dismiss(id: number): void {
  toasts.set(toasts.get().filter((each) => each.id !== id));
}
