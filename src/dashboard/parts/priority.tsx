import { ChevronDown, ChevronsUp, ChevronUp, Minus } from "lucide-react";
import type { ReactElement } from "react";
import { levelOf, PRIORITY_LEVELS, type PriorityLevel } from "../../core/job.ts";

/** Levels, the most urgent first. */
export const LEVELS: readonly PriorityLevel[] = ["critical", "high", "default", "low"];

const ICONS = { critical: ChevronsUp, high: ChevronUp, default: Minus, low: ChevronDown } as const;

/** The colour of each level, as a background. */
export const LEVEL_FILLS: Readonly<Record<PriorityLevel, string>> = {
  critical: "bg-critical",
  high: "bg-high",
  default: "bg-default",
  low: "bg-low",
};

const COLOURS: Readonly<Record<PriorityLevel, string>> = {
  critical: "text-critical",
  high: "text-high",
  default: "text-muted-foreground",
  low: "text-muted-foreground",
};

/** The name of the level with this very number, or else the number. */
export function priorityName(priority: number): PriorityLevel | number {
  const level = levelOf(priority);
  return PRIORITY_LEVELS[level] === priority ? level : priority;
}

/** The name of the level, and the number if it is not the level's own. */
export function priorityText(priority: number): string {
  const name = priorityName(priority);
  return typeof name === "string" ? name : `${levelOf(priority)} (${priority})`;
}

/** A priority by icon and word. */
export function Priority({ priority }: { readonly priority: number }): ReactElement {
  const level = levelOf(priority);
  const Icon = ICONS[level];
  return (
    <span className="inline-flex items-center gap-1 align-bottom whitespace-nowrap">
      <Icon aria-hidden className={`size-3.5 ${COLOURS[level]}`} />
      {priorityText(priority)}
    </span>
  );
}
