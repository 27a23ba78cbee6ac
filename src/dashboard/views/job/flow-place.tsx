import { type ReactElement, type ReactNode } from "react";
import type { FlowRef } from "../../../core/flow-parent.ts";
import { ALL_OTHERS } from "../../../core/flow.ts";
import type { FlowMember } from "../../api.ts";
import { useFellowMembers } from "../../flows/flow-queries.ts";
import { membersAfter, membersBefore } from "../../flows/flow-shape.ts";
import { FlowLink } from "../../flows/flow-parts.tsx";
import { MemberLink } from "../../flows/member-link.tsx";
import { count } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { Loaded } from "../../parts/notices.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";

/** The place of a job in its flow: what it waits for, and what waits for it. */
export function FlowPlace({ flow }: { readonly flow: FlowRef }): ReactElement {
  const result = useFellowMembers(flow.id);
  return (
    <Card title="Place in its flow" aside={<FlowLink flow={flow}>See the flow</FlowLink>}>
      <Loaded result={result} lines={2}>
        {({ members }) => {
          const own = members.find(({ name }) => name === flow.name);
          return own === undefined ? <FarAway /> : <Neighbours flowId={flow.id} own={own} members={members} />;
        }}
      </Loaded>
    </Card>
  );
}

/** Only the first members are read: a job page must not read a million of them. */
function FarAway(): ReactElement {
  return <p className="text-muted-foreground">This flow has too many members to list here what comes before and after this one.</p>;
}

interface NeighboursProps {
  readonly flowId: string;
  readonly own: FlowMember;
  readonly members: readonly FlowMember[];
}

function Neighbours({ flowId, own, members }: NeighboursProps): ReactElement {
  const before = membersBefore(own, members);
  const after = membersAfter(own, members);
  return (
    <dl className="space-y-1.5">
      <Line name="Waits for">
        {own.after === ALL_OTHERS ? `all ${count(before.length)} others` : <Names flowId={flowId} members={before} />}
      </Line>
      <Line name="Waited for by">
        <Names flowId={flowId} members={after} />
      </Line>
    </dl>
  );
}

function Line({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <div className="flex flex-wrap items-baseline gap-x-3">
      <dt className="w-24 shrink-0 text-muted-foreground">{name}</dt>
      <dd className="min-w-0 flex-1 basis-40 break-words">{children}</dd>
    </div>
  );
}

const NAMED = 10;

function Names({ flowId, members }: Omit<NeighboursProps, "own">): ReactElement {
  if (members.length === 0) return <span className="text-muted-foreground">no other member</span>;
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      {members.slice(0, NAMED).map(({ name, status }) => (
        <span key={name} className="inline-flex max-w-full flex-wrap items-center gap-1.5">
          <MemberLink flowId={flowId} name={name} members={members} />
          <StatusBadge status={status} />
        </span>
      ))}
      {members.length > NAMED && <span>and {count(members.length - NAMED)} more</span>}
    </span>
  );
}
