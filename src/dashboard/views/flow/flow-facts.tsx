import type { ReactElement } from "react";
import type { Flow } from "../../api.ts";
import { count } from "../../format.ts";
import { FlowTags, FlowTime } from "../../flows/flow-parts.tsx";
import { CopyButton } from "../../parts/bits.tsx";
import { Card } from "../../parts/card.tsx";
import { Fact, TimeFact } from "../../parts/fact.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { visible } from "../../safe-text.ts";

/** The fields of a flow. */
export function FlowFacts({ flow }: { readonly flow: Flow }): ReactElement {
  const { key, webhookUrl, tags, meta } = flow;
  return (
    <Card title="Fields" flush>
      <dl className="px-4 py-2">
        <Fact name="Members">{count(flow.members)}</Fact>
        <Fact name="Not ended">{count(flow.open)}</Fact>
        <Fact name="Completed">{count(flow.completed)}</Fact>
        <Fact name="Dead or failed">{count(flow.failed)}</Fact>
        <Fact name="Cancelled">{count(flow.cancelled)}</Fact>
        <TimeFact name="Created" at={flow.createdAt} />
        <TimeFact name="Ended" at={flow.endedAt} />
        <Fact name="Duration">
          <FlowTime flow={flow} />
        </Fact>
        <Fact name="Idempotency key">
          {key === null ? null : (
            <span className="inline-flex max-w-full items-center gap-1 font-mono text-xs">
              <span className="min-w-0 break-all">{visible(key)}</span>
              <CopyButton text={key} what="key" />
            </span>
          )}
        </Fact>
        <Fact name="Webhook">
          {webhookUrl === null ? null : <span className="font-mono text-xs break-all">{visible(webhookUrl)}</span>}
        </Fact>
        <Fact name="Tags">{tags.length === 0 ? null : <FlowTags tags={tags} />}</Fact>
      </dl>
      {meta !== null && (
        <div className="border-t px-4 py-3">
          <h3 className="mb-1 text-xs text-muted-foreground">Meta</h3>
          <JsonTree value={meta} />
        </div>
      )}
    </Card>
  );
}
