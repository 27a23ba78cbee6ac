/** SENDS A SIGNAL to a job that waits for it. */
import { Send } from "lucide-react";
import { type ReactElement, useState } from "react";
import { type Issue, MillraceError } from "../../core/errors.ts";
import type { Job } from "../../core/job.ts";
import { act } from "../act.ts";
import { client } from "../api.ts";
import { shortId } from "../format.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { messageOf } from "../parts/notices.tsx";
import { useSteps } from "../queries.ts";
import { visible } from "../safe-text.ts";
import { signalRefused } from "../step-words.ts";
import { issuesOf, readJson } from "./draft.ts";
import { PayloadField } from "./payload-field.tsx";
import { fieldsOf } from "./payload-form.ts";

interface SignalDialogProps {
  readonly job: Job;
  readonly name: string;
  readonly onClose: () => void;
}

export default function SignalDialog({ job, name, onClose }: SignalDialogProps): ReactElement {
  const { data: steps = [] } = useSteps(job);
  const schema = steps.find((step) => step.name === name)?.schema ?? null;
  const hasForm = schema !== null && (fieldsOf(schema) ?? []).length > 0;
  const [typed, setTyped] = useState<string>();
  const text = typed ?? (hasForm ? "{}" : "");
  const [payloadProblem, setPayloadProblem] = useState<string>();
  const [issues, setIssues] = useState<readonly Issue[]>([]);
  const [problem, setProblem] = useState<string>();

  const refuse = (error: unknown): void => {
    setIssues(issuesOf(error));
    if (error instanceof MillraceError && error.field?.startsWith("payload") === true) setPayloadProblem(messageOf(error));
    else setProblem(error instanceof MillraceError && error.code === "wrong_status" ? signalRefused("ended") : messageOf(error));
  };
  const send = async (): Promise<void> => {
    setPayloadProblem(undefined);
    setIssues([]);
    setProblem(undefined);
    // Not null, which a handler takes for the timeout of its wait.
    const isEmpty = text.trim() === "";
    const payload = isEmpty ? undefined : readJson(text, setPayloadProblem);
    if (payload === undefined && !isEmpty) return;
    const sent = await act(
      async () => {
        const answer = await client.signal(job.id, name, payload);
        // Shown in the dialog: what was typed may be of use elsewhere.
        if (!answer.accepted) throw new Error(signalRefused(answer.reason));
        return answer;
      },
      () => `Signal ${visible(name)} was sent to ${job.type} …${shortId(job.id)}`,
      { onFailure: refuse },
    );
    if (sent !== undefined) onClose();
  };

  return (
    <FormDialog title="Send signal" onClose={onClose} onSubmit={send} submit="Send" icon={Send} problem={problem} wide={hasForm}>
      <p className="text-muted-foreground">
        The job waits for the signal{" "}
        <strong className="font-medium break-words text-foreground [overflow-wrap:anywhere]">{visible(name)}</strong> and continues when it
        arrives. Only the first signal of this name counts. You cannot take it back.
      </p>
      <PayloadField
        text={text}
        onChange={setTyped}
        schema={schema}
        problem={payloadProblem}
        issues={issues}
        rows={6}
        hint="What the handler gets: any JSON, up to 1 MiB. Empty sends none."
      />
    </FormDialog>
  );
}
