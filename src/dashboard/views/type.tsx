/** ONE TYPE OF A QUEUE: how it does over time, how long it waits, who works on it, and its errors. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { type ReactElement, useState } from "react";
import { isServed, serves } from "../../core/explain.ts";
import { NOTHING, roughSpan } from "../format.ts";
import { type Range, RANGES } from "../history/ranges.ts";
import { Loaded, messageOf } from "../parts/notices.tsx";
import { useHasType, useQueue, useWorkers } from "../queries.ts";
import { useTitle } from "../title.ts";
import { ErrorGroups } from "./dead/error-groups.tsx";
import { OverTime } from "./queue/over-time.tsx";
import { isRefused, NoSuch, QueueOrNone } from "./queue/queue-or-none.tsx";
import { WorkersOf } from "./queue/workers-of.tsx";

const route = getRouteApi("/queues/$queue/types/$type");

interface TypeProps {
  readonly queue: string;
  readonly type: string;
}

export function TypePage(): ReactElement {
  const { queue, type } = route.useParams();
  useTitle(type);
  const result = useQueue(queue);
  return <QueueOrNone result={result}>{() => <TypeOrNone key={`${queue} ${type}`} queue={queue} type={type} />}</QueueOrNone>;
}

function TypeOrNone({ queue, type }: TypeProps): ReactElement {
  const result = useHasType(queue, type, RANGES["30 d"].periods);
  const title = `There is no such type in ${queue}`;
  if (isRefused(result, "type")) return <NoSuch title={title} text={messageOf(result.error)} />;
  return (
    <Loaded result={result} lines={10}>
      {(isThere) =>
        isThere ? (
          <TypeView queue={queue} type={type} />
        ) : (
          <NoSuch title={title} text="No job of this type is stored or was enqueued in the last 30 days, and no live worker handles it." />
        )
      }
    </Loaded>
  );
}

function TypeView({ queue, type }: TypeProps): ReactElement {
  const [range, setRange] = useState<Range>("24 h");
  return (
    <>
      <Link
        to="/queues/$queue"
        params={{ queue }}
        className="mb-1 inline-flex min-h-6 items-center gap-0.5 text-muted-foreground hover:text-foreground"
      >
        <ChevronLeft aria-hidden className="size-4" /> {queue}
      </Link>
      <div className="mb-4">
        <h1 className="text-lg font-semibold tracking-tight break-all">{type}</h1>
        <Waiting queue={queue} type={type} />
      </div>
      <div className="space-y-4">
        <OverTime queue={queue} type={type} range={range} onRange={setRange} />
        <WorkersOf isMine={(worker) => serves(worker, { queue, type })} none="No live worker handles this type." />
        <ErrorGroups filter={{ queue, type }} search={{ queue, type }} />
      </div>
    </>
  );
}

/** How long its oldest job has waited, whether a worker handles it, and links to its jobs. */
function Waiting({ queue, type }: TypeProps): ReactElement {
  const { data: details } = useQueue(queue);
  const { data: workers } = useWorkers();
  const waiting = details?.types.find((each) => each.type === type);
  return (
    <p className="flex flex-wrap items-center gap-x-3 text-muted-foreground">
      <span>Oldest waiting: {waiting === undefined ? NOTHING : roughSpan(waiting.oldestWaitingMs)}</span>
      {workers !== undefined && !isServed({ queue, type }, workers) && <span className="text-destructive">no live worker</span>}
      <Link to="/jobs" search={{ queue, type }} className="inline-flex min-h-6 items-center rounded underline underline-offset-2">
        Jobs of this type
      </Link>
    </p>
  );
}
