import type { UseQueryResult } from "@tanstack/react-query";
import { Layers } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import type { QueueDetails } from "../../api.ts";
import { Card } from "../../parts/card.tsx";
import { Empty, Loaded, messageOf } from "../../parts/notices.tsx";

interface QueueOrNoneProps {
  readonly result: UseQueryResult<QueueDetails | null>;
  readonly children: (queue: QueueDetails) => ReactNode;
}

/** The page of a queue or of a type, or the words that there is no such queue. */
export function QueueOrNone({ result, children }: QueueOrNoneProps): ReactElement {
  if (isRefused(result, "queue")) return <NoSuch title="There is no such queue" text={messageOf(result.error)} />;
  return (
    <Loaded result={result} lines={10}>
      {(queue) =>
        queue === null ? (
          <NoSuch title="There is no such queue" text="A queue is created by its first job, or by a change of its settings." />
        ) : (
          children(queue)
        )
      }
    </Loaded>
  );
}

/** Whether the server refused to look because this cannot be a name. */
export function isRefused({ error, data }: UseQueryResult, field: "queue" | "type"): boolean {
  return error !== null && data === undefined && "field" in error && error.field === field;
}

/** Instead of the page of something that does not exist. */
export function NoSuch({ title, text }: { readonly title: string; readonly text: string }): ReactElement {
  return (
    <Card>
      <Empty icon={Layers} title={title}>
        {text}
      </Empty>
    </Card>
  );
}
