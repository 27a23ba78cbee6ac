import { type ReactElement, useMemo, useState } from "react";
import type { Flow } from "../../api.ts";
import { criticalPath, type PathPart } from "../../flows/critical-path.ts";
import type { SomeMembers } from "../../flows/flow-queries.ts";
import { MemberLink } from "../../flows/member-link.tsx";
import { count, percent, took } from "../../format.ts";
import { Button } from "../../parts/button.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { useNow } from "../../parts/time.tsx";

const SHOWN = 20;

/** The chain of members that determined the end: how long each waited and ran, on the time of the whole flow. */
export function CriticalPath({ flow, known }: { readonly flow: Flow; readonly known: SomeMembers }): ReactElement {
  const [isWhole, setWhole] = useState(false);
  const { members, isAll } = known;
  const { id, createdAt, status } = flow;
  const now = useNow();
  // Only what runs moves on with the clock.
  const until = status === "running" ? now : 0;
  const path = useMemo(() => criticalPath(members, createdAt, until), [members, createdAt, until]);
  if (!isAll) return <p className="text-muted-foreground">Only some of the members are read, so their longest chain is not known.</p>;
  const last = path.at(-1);
  if (last === undefined) return <p className="text-muted-foreground">No member has started yet.</p>;
  const wholeMs = Math.max(1, last.readyAt + last.waitMs + last.runMs - createdAt);
  const runMs = path.reduce((sum, part) => sum + part.runMs, 0);
  const waitMs = path.reduce((sum, part) => sum + part.waitMs, 0);
  const shown = isWhole ? path : path.slice(-SHOWN);
  return (
    <>
      <p className="mb-3 text-muted-foreground">
        {status === "running" ? "So far, this" : "This"} chain of members took the longest: {took(runMs)} of running, {took(waitMs)} of
        waiting ({percent(waitMs, wholeMs)}). To make the flow faster, make these faster.
      </p>
      <ol aria-label="Critical path" className="space-y-2.5">
        {shown.map((part) => (
          <PathLine key={part.member.name} part={part} flow={{ id, createdAt }} wholeMs={wholeMs} members={members} />
        ))}
      </ol>
      {path.length > SHOWN && (
        <Button look="quiet" className="mt-2" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show the last ones only" : `Show ${count(path.length - SHOWN)} before these`}
        </Button>
      )}
    </>
  );
}

interface PathLineProps {
  readonly part: PathPart;
  readonly flow: Pick<Flow, "id" | "createdAt">;
  readonly wholeMs: number;
  readonly members: SomeMembers["members"];
}

function PathLine({ part: { member, readyAt, waitMs, runMs }, flow, wholeMs, members }: PathLineProps): ReactElement {
  const share = (ms: number): string => `${(ms / wholeMs) * 100}%`;
  return (
    <li className="space-y-1">
      <p className="flex flex-wrap items-center gap-x-3">
        <span className="min-w-0 font-medium">
          <MemberLink flowId={flow.id} name={member.name} members={members} />
        </span>
        {member.status !== "completed" && <StatusBadge status={member.status} />}
        <span className="text-muted-foreground sm:ml-auto">
          waited {took(waitMs)}
          {member.attempt > 1 && `, with ${count(member.attempt - 1)} failed ${member.attempt === 2 ? "attempt" : "attempts"}`}, ran{" "}
          <span className="text-foreground">{took(runMs)}</span>
        </span>
      </p>
      {/* The same in numbers stands above. */}
      <div aria-hidden className="flex h-2 overflow-hidden rounded-full bg-secondary">
        <span style={{ width: share(readyAt - flow.createdAt) }} />
        <span className="bg-primary/35" style={{ width: share(waitMs) }} />
        <span className="min-w-0.5 bg-primary" style={{ width: share(runMs) }} />
      </div>
    </li>
  );
}
