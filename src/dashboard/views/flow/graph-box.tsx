import { Link } from "@tanstack/react-router";
import { Flag } from "lucide-react";
import { type KeyboardEvent, memo, type NamedExoticComponent, type ReactElement } from "react";
import type { FlowMember } from "../../api.ts";
import { BOX_HEIGHT, BOX_WIDTH } from "../../flows/graph-layout.ts";
import { took } from "../../format.ts";
import { STATUS_COLOURS, STATUS_ICONS } from "../../parts/status-badge.tsx";
import { Duration } from "../../parts/time.tsx";
import { visible } from "../../safe-text.ts";

interface BoxProps {
  readonly member: FlowMember;
  readonly at: { readonly x: number; readonly y: number };
  readonly isOnPath: boolean;
  /** Only one box is reached with Tab: from there the arrow keys lead on. */
  readonly isInTabOrder: boolean;
  readonly isActive: boolean;
  readonly onFocus: (name: string) => void;
  readonly onPoint: (name: string) => void;
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
}

/** A member: its name, type, status, and how long it ran. */
export const Box: NamedExoticComponent<BoxProps> = memo(function Box(props: BoxProps): ReactElement {
  const { member, at, isOnPath, isInTabOrder, isActive, onFocus, onPoint, onKeyDown } = props;
  const { name, jobId, type, status, startedAt, endedAt } = member;
  const Icon = STATUS_ICONS[status];
  return (
    <li className="absolute" style={{ left: at.x, top: at.y, width: BOX_WIDTH, height: BOX_HEIGHT }}>
      <Link
        to="/jobs/$id"
        params={{ id: jobId }}
        preload={false}
        data-box={name}
        data-status={status}
        tabIndex={isInTabOrder ? 0 : -1}
        aria-describedby={isActive ? BOX_DETAILS : undefined}
        onFocus={() => onFocus(name)}
        onKeyDown={onKeyDown}
        onPointerEnter={() => onPoint(name)}
        className={`flex h-full flex-col justify-center rounded-lg border border-l-4 border-current/50 bg-card px-2.5 transition-colors hover:bg-accent ${STATUS_COLOURS[status]} ${isActive ? "bg-accent" : ""}`}
      >
        <span title={visible(name)} className="truncate text-sm leading-5 font-medium text-foreground">
          {visible(name)}
        </span>
        <span title={visible(type)} className="truncate text-2xs text-muted-foreground">
          {visible(type)}
        </span>
        <span className="flex items-center gap-1 text-xs leading-5 font-medium">
          <Icon aria-hidden className="size-3 shrink-0" strokeWidth={2.25} />
          {status}
          <span className="ml-auto font-normal text-muted-foreground">
            {status === "running" ? (
              <Duration ms={null} since={startedAt} />
            ) : (
              startedAt !== null && endedAt !== null && took(Math.max(0, endedAt - startedAt))
            )}
          </span>
          {isOnPath && (
            <>
              <Flag aria-hidden className="size-3 shrink-0 text-primary" />
              <span className="sr-only">on the critical path</span>
            </>
          )}
        </span>
      </Link>
    </li>
  );
});

/** The id of the element that tells more of a box. */
export const BOX_DETAILS = "flow-member-details";
