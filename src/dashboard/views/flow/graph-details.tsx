import { Fragment, type ReactElement, type ReactNode } from "react";
import { ALL_OTHERS, type OnFailure } from "../../../core/flow.ts";
import type { Flow, FlowMember } from "../../api.ts";
import { membersAfter, membersBefore } from "../../flows/flow-shape.ts";
import { MemberLink } from "../../flows/member-link.tsx";
import { count, took } from "../../format.ts";
import { QueueLink } from "../../parts/bits.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { Duration } from "../../parts/time.tsx";
import { visible } from "../../safe-text.ts";
import { BOX_DETAILS } from "./graph-box.tsx";

interface BoxDetailsProps {
  readonly flow: Pick<Flow, "id" | "createdAt">;
  /** The one that has the focus, or that is pointed at. */
  readonly member: FlowMember | null;
  readonly members: readonly FlowMember[];
  readonly isOnPath: boolean;
}

/** Below the graph, not over it: so it hides no other box. */
export function BoxDetails({ flow, member, members, isOnPath }: BoxDetailsProps): ReactElement {
  return (
    <div id={BOX_DETAILS} className="min-h-20 min-w-0 flex-1">
      {member === null ? (
        <p className="text-muted-foreground">
          Point at a member, or move to it with the arrow keys, to see its details. Click it, or press Enter, to open its job.
        </p>
      ) : (
        <Details flow={flow} member={member} members={members} isOnPath={isOnPath} />
      )}
    </div>
  );
}

const ON_FAILURE_WORDS: Readonly<Record<OnFailure, string>> = {
  cancel: "it is cancelled",
  run: "it runs",
  wait: "it waits for a retry",
};

function Details({ flow, member, members, isOnPath }: BoxDetailsProps & { readonly member: FlowMember }): ReactElement {
  const { name, type, queue, status, attempt, startedAt, endedAt, error, after, onFailure } = member;
  const before = membersBefore(member, members);
  const readyAt = before.reduce<number | null>(
    (last, { endedAt: end }) => (last === null || end === null ? null : Math.max(last, end)),
    flow.createdAt,
  );
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <strong className="font-medium [overflow-wrap:anywhere]">{visible(name)}</strong>
        <StatusBadge status={status} />
        <span className="min-w-0 break-words text-muted-foreground [overflow-wrap:anywhere]">
          {visible(type)} in <QueueLink name={queue} />
        </span>
        {isOnPath && <span className="text-primary">on the critical path</span>}
      </p>
      <dl className="flex flex-wrap gap-x-4 gap-y-0.5">
        <Detail name="Attempts">{count(attempt)}</Detail>
        {startedAt !== null && readyAt !== null && <Detail name="Waited">{took(Math.max(0, startedAt - readyAt))}</Detail>}
        {startedAt !== null && (endedAt !== null || status === "running") && (
          <Detail name="Ran">{endedAt === null ? <Duration ms={null} since={startedAt} /> : took(Math.max(0, endedAt - startedAt))}</Detail>
        )}
        <Detail name="Waits for">
          {after === ALL_OTHERS ? "all others" : before.length === 0 ? "nothing" : <Names flowId={flow.id} of={before} />}
        </Detail>
        <Detail name="Then">
          {membersAfter(member, members).length === 0 ? "nothing" : <Names flowId={flow.id} of={membersAfter(member, members)} />}
        </Detail>
        {before.length > 0 && <Detail name="If one of them fails">{ON_FAILURE_WORDS[onFailure]}</Detail>}
      </dl>
      {error !== null && <p className="line-clamp-3 break-words text-dead">{visible(`${error.name}: ${error.message}`)}</p>}
    </>
  );
}

const NAMED = 8;

function Names({ flowId, of }: { readonly flowId: string; readonly of: readonly FlowMember[] }): ReactElement {
  return (
    <>
      {of.slice(0, NAMED).map(({ name }, index) => (
        <Fragment key={name}>
          {index > 0 && ", "}
          <MemberLink flowId={flowId} name={name} members={of} isInText />
        </Fragment>
      ))}
      {of.length > NAMED && ` and ${count(of.length - NAMED)} more`}
    </>
  );
}

function Detail({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <div className="flex min-w-0 items-baseline gap-1.5">
      <dt className="shrink-0 text-xs text-muted-foreground">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
}
