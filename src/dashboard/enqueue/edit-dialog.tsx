/** EDITS THE PAYLOAD of a job that has ended, and retries that same job. */
import { RotateCw } from "lucide-react";
import { type ReactElement, useState } from "react";
import { type Issue, MillraceError } from "../../core/errors.ts";
import type { Job } from "../../core/job.ts";
import { payloadOf, prettyJson } from "../../core/json-text.ts";
import { act } from "../act.ts";
import { client } from "../api.ts";
import { shortId } from "../format.ts";
import { SelectField } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { messageOf } from "../parts/notices.tsx";
import { useReason } from "../parts/use-reason.tsx";
import { issuesOf, readJson } from "./draft.ts";
import { PayloadField, usePublishedSchema } from "./payload-field.tsx";

interface EditDialogProps {
  readonly job: Job;
  readonly onClose: () => void;
}

export default function EditDialog({ job, onClose }: EditDialogProps): ReactElement {
  const [text, setText] = useState(() => prettyJson(payloadOf(job)));
  const schema = usePublishedSchema(job.type, job.queue);
  const [restarts, setRestarts] = useState(false);
  const reason = useReason();
  const [payloadProblem, setPayloadProblem] = useState<string>();
  const [issues, setIssues] = useState<readonly Issue[]>([]);
  const [problem, setProblem] = useState<string>();

  const refuse = (error: unknown): void => {
    setIssues(issuesOf(error));
    const isAboutPayload = error instanceof MillraceError && error.field?.startsWith("payload") === true;
    (isAboutPayload ? setPayloadProblem : setProblem)(messageOf(error));
  };
  const retry = async (): Promise<void> => {
    const payload = readJson(text, setPayloadProblem);
    if (payload === undefined) return;
    setPayloadProblem(undefined);
    setIssues([]);
    setProblem(undefined);
    const retried = await act(
      () => client.retry(job.id, { ...reason.options, payload, ...(restarts ? { restart: true } : {}) }),
      () => `${job.type} …${shortId(job.id)} is queued for retry with the new payload`,
      { onFailure: refuse },
    );
    if (retried !== undefined) onClose();
  };

  return (
    <FormDialog title="Edit and retry" onClose={onClose} onSubmit={retry} submit="Save and retry" icon={RotateCw} problem={problem} wide>
      <p className="text-muted-foreground">
        This job, with the same id, gets this payload and is retried. The present payload is not kept.
      </p>
      <PayloadField text={text} onChange={setText} schema={schema} problem={payloadProblem} issues={issues} rows={12} />
      {job.hasSteps && (
        <SelectField
          label="Steps"
          value={restarts ? "restart" : ""}
          onChange={(value) => setRestarts(value === "restart")}
          options={[
            ["", "Continue where it stopped"],
            ["restart", "Start over"],
          ]}
          hint="To continue keeps what its steps did with the present payload. To start over runs them again with the new one."
        />
      )}
      {reason.field}
    </FormDialog>
  );
}
