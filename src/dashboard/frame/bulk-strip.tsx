import { Link } from "@tanstack/react-router";
import { Square } from "lucide-react";
import type { ReactElement } from "react";
import { bulk, stopBulk } from "../bulk.ts";
import { matchedText } from "../bulk-question.tsx";
import { count } from "../format.ts";
import { Meter } from "../parts/bits.tsx";
import { Button } from "../parts/button.tsx";
import { useWatched } from "../use-watched.ts";

const DOING = { retry: "Retrying", cancel: "Cancelling", delete: "Deleting" } as const;

/** The progress of a bulk operation, on every page. */
export function BulkStrip(): ReactElement {
  const running = useWatched(bulk);
  return (
    <div role="status">
      {running !== null && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b bg-primary/8 px-4 py-1.5 sm:px-6">
          <span>
            <strong className="font-medium">{DOING[running.action]}</strong> {count(running.processed)} of {matchedText(running)}
            {running.failed > 0 && <span className="text-destructive">, {count(running.failed)} could not be changed</span>}
          </span>
          <span className="w-48 max-w-full">
            <Meter value={running.processed} of={running.matched} label="jobs processed" />
          </span>
          <Link
            to="/operations"
            className="ml-auto inline-flex min-h-6 items-center rounded text-primary underline-offset-2 hover:underline"
          >
            All operations
          </Link>
          <Button look="quiet" icon={Square} onClick={() => void stopBulk(running)}>
            Stop
          </Button>
        </div>
      )}
    </div>
  );
}
