/** OPERATIONS: one change of many jobs each. Everybody sees those of everybody, also after a reload. */
import { getRouteApi } from "@tanstack/react-router";
import { SquareStack } from "lucide-react";
import type { ReactElement } from "react";
import { MAX_OPERATIONS_PAGE } from "../../core/bulk.ts";
import { counted } from "../../core/counted.ts";
import { Pager } from "../job-list/pager.tsx";
import { usePaging } from "../job-list/paging.ts";
import { Card, PageHead } from "../parts/card.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { usePreference } from "../preferences.ts";
import { useOperations } from "../queries.ts";
import { OperationTable } from "./operations/operation-table.tsx";

const route = getRouteApi("/operations");

export function Operations(): ReactElement {
  const { cursor } = route.useSearch();
  const [size] = usePreference("pageSize");
  const result = useOperations({ limit: Math.min(size, MAX_OPERATIONS_PAGE), cursor });
  const { next, previous, first } = usePaging(cursor, result.data?.cursor);
  return (
    <>
      <PageHead title="Operations">
        Bulk operations of everybody. Each retries, cancels or deletes all jobs that match, in batches.
      </PageHead>
      <Card flush>
        <Loaded result={result} lines={8}>
          {({ operations }) =>
            operations.length === 0 && cursor === undefined ? (
              <Empty icon={SquareStack} title="No operations">
                Start one on the pages Jobs and Dead letters. Ended operations are listed for as long as ended jobs are kept.
              </Empty>
            ) : (
              <>
                <OperationTable operations={operations} />
                <Pager onFirst={first} onPrevious={previous} onNext={next}>
                  {counted(operations.length, "operation")} on this page
                </Pager>
              </>
            )
          }
        </Loaded>
      </Card>
    </>
  );
}
