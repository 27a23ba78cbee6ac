import { type ReactElement, useState } from "react";
import { client, type QueueLimitUse } from "../../../api.ts";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { messageOf } from "../../../parts/notices.tsx";
import { Suggest } from "../../../parts/suggest.tsx";
import { noteRefusal } from "../../../session.ts";
import type { EditedKey } from "./edit-key.ts";

interface ChooseKeyDialogProps {
  readonly queue: string;
  readonly use: QueueLimitUse | null | undefined;
  readonly onChoose: (edited: EditedKey) => void;
  readonly onClose: () => void;
}

/** Asks for the key, and reads its limits first: what is saved replaces them. */
export function ChooseKeyDialog({ queue, use, onChoose, onClose }: ChooseKeyDialogProps): ReactElement {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string>();
  const choose = async (): Promise<void> => {
    const key = text.trim() === "" ? null : text.trim();
    try {
      const own = await client.limits.get(queue, key);
      onChoose({ key, own, running: use?.keys.find((each) => each.key === key)?.running });
    } catch (error) {
      noteRefusal(error);
      setProblem(messageOf(error));
    }
  };
  return (
    <FormDialog title={`Limit a key of ${queue}`} onClose={onClose} problem={problem} submit="Continue" onSubmit={choose}>
      <Suggest label="Limit key" first value={text} onChange={setText} items={use?.keys.map(({ key }) => key) ?? []} />
      <p className="text-xs text-muted-foreground">
        As jobs have it, such as customer-7. Leave it empty to set how many turns the jobs without a key get.
      </p>
    </FormDialog>
  );
}
