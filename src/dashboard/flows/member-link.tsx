import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { FlowMember } from "../api.ts";
import { visible } from "../safe-text.ts";

interface MemberLinkProps {
  readonly flowId: string;
  readonly name: string;
  /** Those that the page knows. */
  readonly members: readonly FlowMember[];
  /** Default: the name. */
  readonly text?: string;
  /** It stands in a sentence, where colour alone would not tell it from the words around it. */
  readonly isInText?: boolean;
}

const LOOK = "rounded py-0.5 text-primary underline-offset-2 [overflow-wrap:anywhere]";

/** The name of a member, as a link to its job; in a flow with very many members to the flow, where it is searched for. */
export function MemberLink({ flowId, name, members, text = name, isInText = false }: MemberLinkProps): ReactElement {
  const className = `${LOOK} ${isInText ? "underline decoration-primary/50 hover:decoration-primary" : "hover:underline"}`;
  const member = members.find((each) => each.name === name);
  if (member !== undefined) {
    return (
      <Link to="/jobs/$id" params={{ id: member.jobId }} className={className}>
        {visible(text)}
      </Link>
    );
  }
  return (
    <Link to="/flows/$id" params={{ id: flowId }} search={{ q: name }} className={className}>
      {visible(text)}
    </Link>
  );
}
