import { Link } from "@tanstack/react-router";
import { Layers, Pause } from "lucide-react";
import type { ReactElement } from "react";
import type { Stats } from "../../api.ts";
import { compact, count } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { Empty } from "../../parts/notices.tsx";
import { LEVEL_FILLS, LEVELS } from "../../parts/priority.tsx";

const SHOWN = 8;

type QueueFigures = Stats["queues"][string];

/** Waiting jobs of each queue by priority: the longest bar is the largest backlog. */
export function QueueBars({ stats }: { readonly stats: Stats }): ReactElement {
  const queues = Object.entries(stats.queues).sort(([a, left], [b, right]) => waitingIn(right) - waitingIn(left) || (a < b ? -1 : 1));
  const longest = Math.max(1, ...queues.map(([, queue]) => waitingIn(queue)));
  return (
    <Card title="Waiting by queue" aside={<Legend />} className="h-full">
      {queues.length === 0 && <Empty icon={Layers} title="No queues yet" />}
      <ul className="space-y-3">
        {queues.slice(0, SHOWN).map(([name, queue]) => (
          <QueueBar key={name} name={name} queue={queue} longest={longest} />
        ))}
      </ul>
      {queues.length > SHOWN && (
        <Link to="/queues" className="mt-3 inline-block text-primary underline-offset-2 hover:underline">
          All {count(queues.length)} queues
        </Link>
      )}
    </Card>
  );
}

function waitingIn({ waiting }: QueueFigures): number {
  return LEVELS.reduce((sum, level) => sum + waiting[level], 0);
}

function QueueBar({
  name,
  queue,
  longest,
}: {
  readonly name: string;
  readonly queue: QueueFigures;
  readonly longest: number;
}): ReactElement {
  const total = waitingIn(queue);
  const words = LEVELS.filter((level) => queue.waiting[level] > 0).map((level) => `${count(queue.waiting[level])} ${level}`);
  return (
    <li>
      <Link to="/jobs" search={{ queue: name, status: "pending,scheduled,retrying" }} className="group block" title={words.join(", ")}>
        <span className="flex items-baseline justify-between gap-3">
          <span className="flex min-w-0 items-center gap-1.5 group-hover:underline">
            <span className="truncate">{name}</span>
            {queue.paused && <Pause role="img" aria-label="paused" className="size-3 shrink-0 text-warning" />}
          </span>
          <span className="font-medium">{compact(total)}</span>
        </span>
        <span aria-hidden className="mt-1 flex h-2 overflow-hidden rounded-full bg-secondary">
          {LEVELS.map((level) => (
            <span key={level} className={LEVEL_FILLS[level]} style={{ width: `${(queue.waiting[level] / longest) * 100}%` }} />
          ))}
        </span>
        <span className="sr-only">{words.join(", ")}</span>
      </Link>
    </li>
  );
}

function Legend(): ReactElement {
  return (
    <ul className="flex gap-3 text-xs text-muted-foreground max-sm:hidden">
      {LEVELS.map((level) => (
        <li key={level} className="flex items-center gap-1">
          <span aria-hidden className={`size-2 rounded-full ${LEVEL_FILLS[level]}`} />
          {level}
        </li>
      ))}
    </ul>
  );
}
