/** Overlays of the page, one at a time. */
import type { Job } from "../core/job.ts";
import type { EnqueueDraft } from "./enqueue/draft.ts";
import { Watched } from "./watched.ts";

export type Overlay =
  | { readonly kind: "palette" }
  | { readonly kind: "shortcuts" }
  /** The dialog that enqueues a job; `draft` fills in its fields. */
  | { readonly kind: "enqueue"; readonly draft?: Partial<EnqueueDraft> }
  /** The dialog that edits the payload of a job that has ended, and retries it. */
  | { readonly kind: "edit"; readonly job: Job }
  /** The dialog that sends this signal to a job. */
  | { readonly kind: "signal"; readonly job: Job; readonly name: string };

/** The open overlay. */
export const overlay = new Watched<Overlay | null>(null);

export function closeOverlay(): void {
  overlay.set(null);
}
