import type { ReactElement } from "react";
import type { Job, JobError } from "../../../core/job.ts";
import { type JobAttempt, type ManualChange, startsLife } from "../../../core/manual-change.ts";
import { changeWords } from "../../change-words.ts";
import { NOTHING } from "../../format.ts";
import { CopyButton } from "../../parts/bits.tsx";
import { Card } from "../../parts/card.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Duration, Moment } from "../../parts/time.tsx";
import type { JobHistory } from "../../queries.ts";
import { visible } from "../../safe-text.ts";

const COLOURS = { running: "text-running", completed: "text-completed", failed: "text-dead", cancelled: "text-cancelled" } as const;

const COLUMNS: readonly Column<JobAttempt>[] = [
  { id: "number", title: "No.", cell: ({ number }) => number, end: true },
  {
    id: "outcome",
    title: "Outcome",
    cell: ({ outcome }) => <span className={`font-medium ${COLOURS[outcome]}`}>{outcome}</span>,
    place: "title",
  },
  {
    id: "error",
    title: "Error",
    cell: ({ error }) => (error === null ? <span className="text-muted-foreground">{NOTHING}</span> : <ErrorLine error={error} />),
    className: "w-full max-w-0 min-w-40 truncate",
    isEmpty: ({ error }) => error === null,
  },
  {
    id: "worker",
    title: "Worker",
    cell: ({ workerId }) => <span className="font-mono text-xs whitespace-nowrap">{visible(workerId ?? NOTHING)}</span>,
    className: "max-w-40 truncate",
    yields: 1,
  },
  { id: "started", title: "Started", cell: ({ startedAt }) => <Moment at={startedAt} />, end: true, yields: 2 },
  {
    id: "duration",
    title: "Duration",
    cell: ({ startedAt, endedAt, durationMs }) =>
      endedAt === null ? <Duration ms={null} since={startedAt} /> : <Duration ms={durationMs} />,
    end: true,
  },
];

/** Every attempt, the latest first, with its error and stack. If the job was retried by hand, by life. */
export function Attempts({ history, job }: { readonly history: JobHistory; readonly job: Job }): ReactElement {
  const { attempts, changes } = history;
  const latest = attempts.at(-1);
  const lives = [...Map.groupBy(attempts.toReversed(), ({ life }) => life)];
  const retries = changes.filter(startsLife);
  return (
    <Card title="Attempts" flush aside={<span className="text-xs text-muted-foreground">{attempts.length} in total</span>}>
      {lives.map(([life, ofLife], index) => (
        <div key={life} className={index === 0 ? "" : "border-t"}>
          {retries.length > 0 && <LifeHead life={life} retry={retries[life - 2]} />}
          <DataTable
            caption={retries.length > 0 ? `Attempts of life ${life}` : "Attempts"}
            rows={ofLife}
            columns={COLUMNS}
            keyOf={({ number }) => String(number)}
            details={{
              label: ({ number }) => `Error of attempt ${number}`,
              body: ErrorDetails,
              has: ({ error }) => error !== null,
              isOpenAtFirst: (attempt) => attempt === latest && job.status !== "completed",
            }}
          />
        </div>
      ))}
    </Card>
  );
}

/** The number of a life, and the retry that began it. */
function LifeHead({ life, retry }: { readonly life: number; readonly retry: ManualChange | undefined }): ReactElement {
  return (
    <h3 className="flex flex-wrap items-baseline gap-x-2 px-4 pt-3 pb-1 font-medium">
      Life {life}
      {retry !== undefined && (
        <span className="text-xs font-normal text-muted-foreground">
          {changeWords(retry)}, <Moment at={retry.at} />
        </span>
      )}
    </h3>
  );
}

function ErrorLine({ error: { name, message, kind } }: { readonly error: JobError }): ReactElement {
  const text = visible(`${kind === "error" ? name : kind}: ${message.slice(0, 200)}`);
  return <span title={text}>{text}</span>;
}

/** The stack; lines that are not the application's own are dimmed. */
function ErrorDetails({ row: { error } }: { readonly row: JobAttempt }): ReactElement | null {
  if (error === null) return null;
  const text = error.stack ?? `${error.name}: ${error.message}`;
  return (
    <div className="rounded-lg border bg-background">
      {error.version !== undefined && (
        <p className="border-b px-3 py-1.5 text-xs">
          Failed with version <strong className="font-medium">{visible(error.version)}</strong>
        </p>
      )}
      {/* Beside the stack: above it, the button would cover what is scrolled there. */}
      <div className="flex items-start">
        <pre dir="ltr" tabIndex={0} className="max-h-80 min-w-0 flex-1 overflow-auto p-3 font-mono text-xs leading-5">
          {text.split("\n").map((line, index) => (
            <span key={index} className={`block ${toneOf(line)}`}>
              {visible(line)}
            </span>
          ))}
        </pre>
        <span className="p-1">
          <CopyButton text={text} what="stack" />
        </span>
      </div>
    </div>
  );
}

function toneOf(line: string): string {
  if (!/^\s+at /.test(line)) return "text-dead";
  return /node:|node_modules/.test(line) ? "text-muted-foreground" : "";
}
