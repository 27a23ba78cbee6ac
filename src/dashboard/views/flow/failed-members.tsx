import { useState, type ReactElement } from "react";
import { counted } from "../../../core/counted.ts";
import type { Flow, FlowMember } from "../../api.ts";
import { count } from "../../format.ts";
import { MemberLink } from "../../flows/member-link.tsx";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { visible } from "../../safe-text.ts";

const SHOWN = 5;

/** The members that failed, with their errors. What was cancelled because of them is not among them. */
export function FailedMembers({ flow, members }: { readonly flow: Flow; readonly members: readonly FlowMember[] }): ReactElement | null {
  const [isWhole, setWhole] = useState(false);
  const failed = members
    .filter(({ status }) => status === "dead" || status === "failed")
    .toSorted((one, other) => (one.endedAt ?? 0) - (other.endedAt ?? 0));
  if (failed.length === 0) return null;
  const shown = isWhole ? failed : failed.slice(0, SHOWN);
  return (
    <Card
      title={`Failed members, the first to fail at the top`}
      flush
      aside={<span className="text-xs text-muted-foreground">{count(flow.failed)}</span>}
    >
      <ul aria-label="Failed members" className="max-h-96 divide-y overflow-y-auto">
        {shown.map(({ name, status, attempt, error }) => (
          <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-0.5 px-4 py-1.5">
            <span className="font-medium">
              <MemberLink flowId={flow.id} name={name} members={members} />
            </span>
            <StatusBadge status={status} />
            <span className="text-xs text-muted-foreground">{counted(attempt, "attempt")}</span>
            {error !== null && (
              <span title={visible(error.message)} className="min-w-40 flex-1 truncate text-dead">
                {visible(`${error.name}: ${error.message}`)}
              </span>
            )}
          </li>
        ))}
      </ul>
      {failed.length > SHOWN && (
        <div className="border-t px-2 py-1">
          <Button look="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "Show fewer" : `Show ${count(failed.length - SHOWN)} more`}
          </Button>
        </div>
      )}
    </Card>
  );
}
