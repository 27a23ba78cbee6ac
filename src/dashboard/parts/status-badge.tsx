import { Ban, CircleCheck, CircleDashed, CircleX, Clock3, Hourglass, type LucideIcon, Play, RotateCw, Skull } from "lucide-react";
import type { ReactElement } from "react";
import type { Status } from "../../core/job.ts";

/** The icon of each status. */
export const STATUS_ICONS: Readonly<Record<Status, LucideIcon>> = {
  scheduled: Clock3,
  pending: CircleDashed,
  running: Play,
  retrying: RotateCw,
  blocked: Hourglass,
  completed: CircleCheck,
  failed: CircleX,
  dead: Skull,
  cancelled: Ban,
};

/** The colour of each status as text. */
export const STATUS_COLOURS: Readonly<Record<Status, string>> = {
  scheduled: "text-scheduled",
  pending: "text-pending",
  running: "text-running",
  retrying: "text-retrying",
  blocked: "text-blocked",
  completed: "text-completed",
  failed: "text-failed",
  dead: "text-dead",
  cancelled: "text-cancelled",
};

/** What the word alone does not say. */
const TITLES: Partial<Record<Status, string>> = { blocked: "Waits for a signal or for another job" };

/** A status by icon and word: never by colour alone. */
export function StatusBadge({ status }: { readonly status: Status }): ReactElement {
  const Icon = STATUS_ICONS[status];
  return (
    <span
      data-status={status}
      title={TITLES[status]}
      className={`inline-flex h-5 items-center gap-1 rounded-full align-bottom bg-current/10 px-1.5 text-xs font-medium whitespace-nowrap ${STATUS_COLOURS[status]}`}
    >
      <Icon aria-hidden className="size-3" strokeWidth={2.25} />
      {status}
    </span>
  );
}
