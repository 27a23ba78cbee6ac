import { TriangleAlert } from "lucide-react";
import { Fragment, type ReactElement } from "react";
import { counted } from "../../../core/counted.ts";
import type { Flow, FlowMember } from "../../api.ts";
import { MemberLink } from "../../flows/member-link.tsx";

/** Which members wait until somebody retries what they wait for. Without that the flow never ends. */
export function Stuck({ flow, members }: { readonly flow: Flow; readonly members: readonly FlowMember[] }): ReactElement | null {
  const { count, names } = flow.stuck;
  if (count === 0) return null;
  return (
    <section aria-label="What it waits for" className="flex items-start gap-2.5 rounded-xl border border-warning/35 bg-card px-4 py-3">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warning" />
      <p className="min-w-0 break-words">
        <strong className="font-medium">
          {counted(count, "member waits until what it waits for is retried", "members wait until what they wait for is retried")}:
        </strong>{" "}
        {names.map((name, index) => (
          <Fragment key={name}>
            {index > 0 && ", "}
            <MemberLink flowId={flow.id} name={name} members={members} isInText />
          </Fragment>
        ))}
        {count > names.length && ` and ${counted(count - names.length, "more", "more")}`}.
      </p>
    </section>
  );
}
