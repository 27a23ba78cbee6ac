import { ChevronRight } from "lucide-react";
import { type ReactElement, useState } from "react";
import type { Attempt, Job, JobError } from "../../../core/job.ts";
import { NOTHING } from "../../format.ts";
import { CopyButton } from "../../parts/bits.tsx";
import { Card } from "../../parts/card.tsx";
import { ROW, Table, Td, Th } from "../../parts/table.tsx";
import { Duration, Moment } from "../../parts/time.tsx";
import { visible } from "../../safe-text.ts";

const COLOURS = { running: "text-running", completed: "text-completed", failed: "text-dead", cancelled: "text-cancelled" } as const;

/** Every attempt, the latest first, with its error and stack. */
export function Attempts({ attempts, job }: { readonly attempts: readonly Attempt[]; readonly job: Job }): ReactElement {
  const latest = attempts.at(-1)?.number;
  return (
    <Card title="Attempts" flush aside={<span className="text-xs text-muted-foreground">{attempts.length} in all</span>}>
      <Table caption="Attempts">
        <thead>
          <tr>
            <Th className="w-px">
              <span className="sr-only">Details</span>
            </Th>
            <Th end>No.</Th>
            <Th>Outcome</Th>
            <Th>Error</Th>
            <Th>Worker</Th>
            <Th end>Started</Th>
            <Th end>Duration</Th>
          </tr>
        </thead>
        <tbody>
          {attempts.toReversed().map((attempt) => (
            <AttemptRow key={attempt.number} attempt={attempt} isFirst={attempt.number === latest && job.status !== "completed"} />
          ))}
        </tbody>
      </Table>
    </Card>
  );
}

function AttemptRow({ attempt, isFirst }: { readonly attempt: Attempt; readonly isFirst: boolean }): ReactElement {
  const { number, outcome, error, workerId, startedAt, endedAt, durationMs } = attempt;
  const [isOpen, setOpen] = useState(isFirst && error !== null && error.stack !== null);
  return (
    <>
      <tr className={ROW}>
        <Td>
          {error !== null && (
            <button
              type="button"
              aria-expanded={isOpen}
              aria-label={`Error of attempt ${number}`}
              onClick={() => setOpen(!isOpen)}
              className="grid size-6 place-items-center rounded hover:bg-accent"
            >
              <ChevronRight aria-hidden className={`size-4 text-muted-foreground transition-transform ${isOpen ? "rotate-90" : ""}`} />
            </button>
          )}
        </Td>
        <Td end>{number}</Td>
        <Td className={`font-medium ${COLOURS[outcome]}`}>{outcome}</Td>
        <Td className="max-w-80 truncate">
          {error === null ? <span className="text-muted-foreground">{NOTHING}</span> : errorLine(error)}
        </Td>
        <Td className="max-w-40 truncate font-mono text-xs">{visible(workerId ?? NOTHING)}</Td>
        <Td end>
          <Moment at={startedAt} />
        </Td>
        <Td end>{endedAt === null ? <Duration ms={null} since={startedAt} /> : <Duration ms={durationMs} />}</Td>
      </tr>
      {isOpen && error !== null && (
        <tr>
          <td colSpan={7} className="px-4 pb-3">
            <ErrorDetails error={error} />
          </td>
        </tr>
      )}
    </>
  );
}

function errorLine({ name, message, kind }: JobError): string {
  return visible(`${kind === "error" ? name : kind}: ${message.slice(0, 200)}`);
}

/** The stack, with what is not the application's own set back. */
function ErrorDetails({ error }: { readonly error: JobError }): ReactElement {
  const text = error.stack ?? `${error.name}: ${error.message}`;
  return (
    <div className="relative rounded-lg border bg-background">
      <span className="absolute top-1 right-1">
        <CopyButton text={text} what="stack" />
      </span>
      <pre dir="ltr" tabIndex={0} className="max-h-80 overflow-auto p-3 pr-10 font-mono text-xs leading-5">
        {text.split("\n").map((line, index) => (
          <span key={index} className={`block ${toneOf(line)}`}>
            {visible(line)}
          </span>
        ))}
      </pre>
    </div>
  );
}

function toneOf(line: string): string {
  if (!/^\s+at /.test(line)) return "text-dead";
  return /node:|node_modules/.test(line) ? "text-muted-foreground/80" : "";
}
