import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronLeft, ListChecks } from "lucide-react";
import type { ReactElement } from "react";
import type { Flow, FlowMember } from "../../api.ts";
import { copyText } from "../../copy-text.ts";
import { changeFlow, FLOW_ACTION_ICONS, FLOW_ACTION_WORDS, FLOW_ACTIONS, type FlowAction, mayBe } from "../../flows/flow-actions.ts";
import { FlowProgress, FlowTags, FlowTime } from "../../flows/flow-parts.tsx";
import { nameOf } from "../../flows/flow-words.ts";
import { useShortcuts } from "../../keyboard.ts";
import { AuditLink, CopyButton } from "../../parts/bits.tsx";
import { Button } from "../../parts/button.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { Ago } from "../../parts/time.tsx";
import { useIsOperator } from "../../session.ts";

interface OfFlow {
  readonly flow: Flow;
}

/** The name, id, status and progress of a flow, and actions. */
export function FlowHead({ flow, members }: OfFlow & { readonly members: readonly FlowMember[] }): ReactElement {
  const { id, key, status, createdAt, tags } = flow;
  const name = nameOf(flow);
  return (
    <div className="mb-4">
      <Link to="/flows" className="mb-1 inline-flex min-h-6 items-center gap-0.5 text-muted-foreground hover:text-foreground">
        <ChevronLeft aria-hidden className="size-4" /> Flows
      </Link>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <h1 className="flex flex-wrap items-center gap-2.5 text-lg font-semibold tracking-tight">
            <span className={key === null ? "" : "break-all"}>{name.charAt(0).toUpperCase() + name.slice(1)}</span>
            <StatusBadge status={status} />
          </h1>
          <p className="flex flex-wrap items-center gap-x-3 text-muted-foreground">
            <span className="inline-flex items-center gap-1 font-mono text-xs break-all">
              {id}
              <CopyButton text={id} what="id" />
            </span>
            <span>
              created <Ago at={createdAt} />
            </span>
            <span>
              {status !== "running" && "took "}
              <FlowTime flow={flow} />
            </span>
            {tags.length > 0 && <FlowTags tags={tags} />}
          </p>
        </div>
        <Actions flow={flow} members={members} />
      </div>
      <div className="mt-3 rounded-xl border bg-card px-4 py-2">
        <FlowProgress flow={flow} isShort />
      </div>
    </div>
  );
}

function Actions({ flow, members }: OfFlow & { readonly members: readonly FlowMember[] }): ReactElement {
  const navigate = useNavigate();
  const isOperator = useIsOperator();
  const valid = FLOW_ACTIONS.filter((action) => mayBe(action, flow));
  const change = async (action: FlowAction): Promise<void> => {
    const running = members.filter(({ status }) => status === "running").length;
    if ((await changeFlow(action, flow, running)) && action === "delete") void navigate({ to: "/flows" });
  };
  const changeIfValid = (action: FlowAction): void => {
    if (isOperator && valid.includes(action)) void change(action);
  };
  useShortcuts({
    r: () => changeIfValid("retry"),
    c: () => changeIfValid("cancel"),
    y: () => void copyText(flow.id, "Id"),
  });
  return (
    <div className="flex flex-wrap gap-2">
      {isOperator &&
        valid.map((action) => (
          <Button
            key={action}
            icon={FLOW_ACTION_ICONS[action]}
            look={action === "retry" ? "primary" : "plain"}
            onClick={() => void change(action)}
          >
            {FLOW_ACTION_WORDS[action]}
          </Button>
        ))}
      <Link
        to="/jobs"
        search={{ flow: flow.id }}
        className="inline-flex h-8 items-center gap-1.5 rounded-md px-2.5 text-muted-foreground hover:bg-accent hover:text-foreground"
      >
        <ListChecks aria-hidden className="size-3.5" /> Jobs
      </Link>
      <AuditLink of={{ jobId: flow.id }} />
    </div>
  );
}
