/** ONE FLOW: how it stands, its members as a graph or a table, and where its time went. */
import { getRouteApi } from "@tanstack/react-router";
import { FileQuestion } from "lucide-react";
import type { ReactElement } from "react";
import type { Flow } from "../api.ts";
import { useFlow, useMembers } from "../flows/flow-queries.ts";
import { nameOf } from "../flows/flow-words.ts";
import { Card } from "../parts/card.tsx";
import { Empty, Loaded, messageOf } from "../parts/notices.tsx";
import { useTitle } from "../title.ts";
import { CriticalPath } from "./flow/critical-path.tsx";
import { FailedMembers } from "./flow/failed-members.tsx";
import { FlowFacts } from "./flow/flow-facts.tsx";
import { FlowHead } from "./flow/flow-head.tsx";
import { Members, useMost } from "./flow/members.tsx";
import { Stuck } from "./flow/stuck.tsx";

const route = getRouteApi("/flows/$id");
const MARKS: Partial<Record<Flow["status"], string>> = { completed: "✓", failed: "✗", running: "▶", cancelled: "⊘" };

export function FlowPage(): ReactElement {
  const { id } = route.useParams();
  const result = useFlow(id);
  if (result.error !== null && result.data === undefined && "field" in result.error && result.error.field === "id") {
    return <NoFlow text={messageOf(result.error)} />;
  }
  return (
    <Loaded result={result} lines={10}>
      {(flow) =>
        flow === null ? (
          <NoFlow text="It was deleted, or pruned after its retention, or never existed." />
        ) : (
          <FlowView key={flow.id} flow={flow} />
        )
      }
    </Loaded>
  );
}

function NoFlow({ text }: { readonly text: string }): ReactElement {
  useTitle("No such flow");
  return (
    <Card>
      <Empty icon={FileQuestion} title="There is no such flow" isPage>
        {text}
      </Empty>
    </Card>
  );
}

function FlowView({ flow }: { readonly flow: Flow }): ReactElement {
  const [most, readMore] = useMost();
  const result = useMembers(flow, most);
  const known = result.data;
  const name = nameOf(flow);
  // The title shows the end of the flow while you are in another tab.
  useTitle(`${MARKS[flow.status] ?? "·"} ${name}`);
  return (
    <>
      <FlowHead flow={flow} members={known?.members ?? []} />
      <div className="space-y-4">
        <Stuck flow={flow} members={known?.members ?? []} />
        {known !== undefined && flow.failed > 0 && <FailedMembers flow={flow} members={known.members} />}
        <Members flow={flow} result={result} onMore={readMore} />
        <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_22rem]">
          <Card title="Where the time went">
            <Loaded result={result} lines={4}>
              {(some) => <CriticalPath flow={flow} known={some} />}
            </Loaded>
          </Card>
          <FlowFacts flow={flow} />
        </div>
      </div>
    </>
  );
}
