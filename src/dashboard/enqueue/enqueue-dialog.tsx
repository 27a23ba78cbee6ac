/** ENQUEUES A JOB BY HAND: type, payload and options; also copies the command that would do the same. */
import { ChevronRight, ClipboardCopy, Send } from "lucide-react";
import { type ReactElement, useState } from "react";
import { type Issue, MillraceError } from "../../core/errors.ts";
import { act } from "../act.ts";
import { client } from "../api.ts";
import { COPY_FORMATS } from "../copy-as.ts";
import { copyText } from "../copy-text.ts";
import { useKnownTypes } from "../known-names.ts";
import { JobLink } from "../parts/bits.tsx";
import { Button } from "../parts/button.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { messageOf } from "../parts/notices.tsx";
import { Suggest } from "../parts/suggest.tsx";
import { readPreference, setPreference } from "../preferences.ts";
import { type DraftProblems, EMPTY_DRAFT, type EnqueueDraft, issuesOf, readDraft } from "./draft.ts";
import { PayloadField, usePublishedSchema } from "./payload-field.tsx";
import { JobOptionFields } from "./job-option-fields.tsx";

/** How many payloads are remembered, and how long each may be. */
const REMEMBERED = 20;
const MAX_REMEMBERED = 20_000;

interface EnqueueDialogProps {
  readonly draft: Partial<EnqueueDraft> | undefined;
  readonly onClose: () => void;
}

export default function EnqueueDialog({ draft: given = {}, onClose }: EnqueueDialogProps): ReactElement {
  const [draft, setDraft] = useState<EnqueueDraft>({ ...EMPTY_DRAFT, ...given });
  const [problems, setProblems] = useState<DraftProblems>({});
  const [issues, setIssues] = useState<readonly Issue[]>([]);
  const [problem, setProblem] = useState<string>();
  const types = useKnownTypes();
  const schema = usePublishedSchema(draft.type, draft.queue);
  const set = (change: Partial<EnqueueDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const setType = (type: string): void => {
    const last = readPreference("payloads")[type];
    // Starts with the last payload of this type, but never replaces what was typed.
    set(last !== undefined && draft.payload.trim() === EMPTY_DRAFT.payload ? { type, payload: last } : { type });
  };

  /** Shows what the server refused: at the field, if it names one. */
  const refuse = (error: unknown): void => {
    setIssues(issuesOf(error));
    const field = error instanceof MillraceError ? error.field?.split(".")[0] : undefined;
    if (field !== undefined && field in EMPTY_DRAFT) setProblems({ [field]: messageOf(error) });
    else setProblem(messageOf(error));
  };
  const enqueue = async (staysOpen: boolean): Promise<void> => {
    const read = readDraft(draft);
    if (!read.ok) return setProblems(read.problems);
    setProblems({});
    setIssues([]);
    setProblem(undefined);
    const job = await act(
      () => client.enqueue(read.type, read.payload, read.options),
      ({ id, created }) => (
        <>
          {created ? `Enqueued ${read.type} as` : "This idempotency key is in use by job"} <JobLink id={id} />
        </>
      ),
      { onFailure: refuse },
    );
    if (job === undefined) return;
    remember(read.type, draft.payload);
    if (!staysOpen) onClose();
  };

  return (
    <FormDialog
      title="Enqueue a job"
      onClose={onClose}
      wide
      problem={problem}
      start={<CopyDraftAs draft={draft} onProblems={setProblems} />}
      other={{ label: "Enqueue and keep open", onSubmit: () => enqueue(true) }}
      submit="Enqueue"
      icon={Send}
      onSubmit={() => enqueue(false)}
    >
      <Suggest label="Type" placeholder="email:send" first value={draft.type} onChange={setType} items={types} problem={problems.type} />
      <PayloadField
        text={draft.payload}
        onChange={(payload) => set({ payload })}
        schema={schema}
        problem={problems.payload}
        issues={issues}
        rows={9}
      />
      <details className="group" open={Object.keys(given).length > 2}>
        <summary className="inline-flex min-h-6 list-none items-center gap-1 rounded font-medium">
          <ChevronRight aria-hidden className="size-4 text-muted-foreground transition-transform group-open:rotate-90" />
          Options
        </summary>
        <JobOptionFields draft={draft} problems={problems} set={set} />
      </details>
    </FormDialog>
  );
}

function remember(type: string, payload: string): void {
  if (payload.length > MAX_REMEMBERED) return;
  const { [type]: _, ...others } = readPreference("payloads");
  setPreference("payloads", Object.fromEntries([[type, payload], ...Object.entries(others)].slice(0, REMEMBERED)));
}

interface CopyDraftAsProps {
  readonly draft: EnqueueDraft;
  readonly onProblems: (problems: DraftProblems) => void;
}

function CopyDraftAs({ draft, onProblems }: CopyDraftAsProps): ReactElement {
  return (
    <span className="mr-auto">
      <Menu
        trigger={
          <Button look="quiet" icon={ClipboardCopy}>
            Copy as
          </Button>
        }
      >
        {COPY_FORMATS.map(([name, write]) => (
          <MenuItem
            key={name}
            onClick={() => {
              const read = readDraft(draft);
              if (read.ok) void copyText(write(read), name);
              else onProblems(read.problems);
            }}
          >
            {name}
          </MenuItem>
        ))}
      </Menu>
    </span>
  );
}
