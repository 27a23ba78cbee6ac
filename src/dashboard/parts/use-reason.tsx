import { type ReactElement, useState } from "react";
import { type ChangeOptions, MAX_REASON_LENGTH } from "../../core/manual-change.ts";
import { TextField } from "./field.tsx";

/** The field in which one says why a change is made, and the options of the change that follow from it. */
export function useReason(): { readonly field: ReactElement; readonly options: ChangeOptions } {
  const [text, setText] = useState("");
  const reason = text.trim();
  return {
    field: <TextField label="Reason" value={text} onChange={setText} maxLength={MAX_REASON_LENGTH} hint="Optional. Shown in the audit." />,
    options: reason === "" ? {} : { reason },
  };
}
