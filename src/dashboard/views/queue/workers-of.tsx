import type { ReactElement } from "react";
import { usersWorkers } from "../../../core/attention.ts";
import type { Worker } from "../../api.ts";
import { Card } from "../../parts/card.tsx";
import { Loaded } from "../../parts/notices.tsx";
import { useWorkers } from "../../queries.ts";
import { WorkerTable } from "../workers/worker-table.tsx";

interface WorkersOfProps {
  /** Whether a worker works on what the page shows. */
  readonly isMine: (worker: Worker) => boolean;
  /** The text if there is none. */
  readonly none: string;
}

/** The live workers of a queue or of one type. */
export function WorkersOf({ isMine, none }: WorkersOfProps): ReactElement {
  const workers = useWorkers();
  return (
    <Card title="Workers" flush>
      <Loaded result={workers} lines={3}>
        {(all) => {
          const mine = usersWorkers(all).filter(isMine);
          if (mine.length > 0) return <WorkerTable workers={mine} />;
          return <p className="px-4 py-6 text-center text-muted-foreground">{none}</p>;
        }}
      </Loaded>
    </Card>
  );
}
