/** FLOWS: jobs that run after each other. */
import { getRouteApi } from "@tanstack/react-router";
import { Workflow } from "lucide-react";
import type { ReactElement } from "react";
import { MAX_FLOWS_PAGE } from "../../core/flow.ts";
import { counted } from "../../core/counted.ts";
import { useFlows } from "../flows/flow-queries.ts";
import { Pager } from "../job-list/pager.tsx";
import { usePaging } from "../job-list/paging.ts";
import { Card, PageHead } from "../parts/card.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { usePreference } from "../preferences.ts";
import { FlowTable } from "./flows/flow-table.tsx";
import { FlowTabs } from "./flows/flow-tabs.tsx";

const route = getRouteApi("/flows");

export function Flows(): ReactElement {
  const { status, cursor } = route.useSearch();
  const [size] = usePreference("pageSize");
  const result = useFlows({ limit: Math.min(size, MAX_FLOWS_PAGE), status, cursor });
  const { next, previous, first } = usePaging(cursor, result.data?.cursor);
  return (
    <>
      <PageHead title="Flows">Jobs that run after each other. Each flow ends when all of its members have ended.</PageHead>
      <div className="space-y-3">
        <FlowTabs status={status} />
        <Card flush>
          <Loaded result={result} lines={8}>
            {({ flows }) =>
              flows.length === 0 && cursor === undefined ? (
                <NoFlows status={status} />
              ) : (
                <>
                  <FlowTable flows={flows} />
                  <Pager onFirst={first} onPrevious={previous} onNext={next}>
                    {counted(flows.length, "flow")} on this page, the newest first
                  </Pager>
                </>
              )
            }
          </Loaded>
        </Card>
      </div>
    </>
  );
}

function NoFlows({ status }: { readonly status: string | undefined }): ReactElement {
  return (
    <Empty icon={Workflow} title={status === undefined ? "No flows" : `No flow is ${status}`}>
      {status === undefined && (
        <>
          A program creates one with <code className="font-mono text-xs">client.flow([…])</code>.
        </>
      )}
    </Empty>
  );
}
