/** OPERATIONS: one change of many jobs each. Everybody sees those of everybody, also after a reload. */
import { getRouteApi } from "@tanstack/react-router";
import { ArrowLeft, ArrowRight, SquareStack } from "lucide-react";
import type { ReactElement } from "react";
import { counted } from "../../core/counted.ts";
import { usePaging } from "../job-list/paging.ts";
import { Button } from "../parts/button.tsx";
import { Card, PageHead } from "../parts/card.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { useOperations } from "../queries.ts";
import { OperationTable } from "./operations/operation-table.tsx";

const route = getRouteApi("/operations");

const LIMIT = 25;

export function Operations(): ReactElement {
  const { cursor } = route.useSearch();
  const result = useOperations({ limit: LIMIT, cursor });
  const { next, previous } = usePaging(cursor, result.data?.cursor);
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
                <div className="flex items-center gap-1 border-t px-4 py-2">
                  <p className="flex-1 text-muted-foreground">{counted(operations.length, "operation")} on this page</p>
                  <Button icon={ArrowLeft} disabled={previous === undefined} onClick={previous}>
                    Previous
                  </Button>
                  <Button disabled={next === undefined} onClick={next}>
                    Next
                    <ArrowRight aria-hidden className="size-3.5" />
                  </Button>
                </div>
              </>
            )
          }
        </Loaded>
      </Card>
    </>
  );
}
