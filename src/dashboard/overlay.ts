/** What lies over the page: one at a time. */
import type { EnqueueDraft } from "./enqueue/draft.ts";
import { Watched } from "./watched.ts";

/** What can lie over it. */
export type Overlay =
  | { readonly kind: "palette" }
  | { readonly kind: "shortcuts" }
  /** The dialog that makes a job, filled in with what is known. */
  | { readonly kind: "enqueue"; readonly draft?: Partial<EnqueueDraft> };

/** What lies over the page now. */
export const overlay = new Watched<Overlay | null>(null);

/** Takes it away. */
export function closeOverlay(): void {
  overlay.set(null);
}
