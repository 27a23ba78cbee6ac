import type { LucideIcon } from "lucide-react";
import { type ReactElement, type ReactNode, useId, useRef, useState } from "react";
import { Button } from "./button.tsx";
import { Dialog, type DialogProps } from "./dialog.tsx";

interface FormDialogProps extends Omit<DialogProps, "footer" | "hideTitle"> {
  /** The label of the button that sends the form. */
  readonly submit: string;
  readonly icon?: LucideIcon;
  readonly danger?: boolean;
  /** Whether it can be sent. Default: yes. */
  readonly isReady?: boolean;
  readonly onSubmit: () => void | Promise<void>;
  /** A button that sends it another way. */
  readonly other?: { readonly label: string; readonly onSubmit: () => void | Promise<void> } | undefined;
  /** The label of the button that closes it. Default: Cancel. */
  readonly cancel?: string;
  /** Replaces the button that closes it. */
  readonly start?: ReactNode;
  /** The button that has the focus at first. Default: neither. */
  readonly first?: "cancel" | "submit" | undefined;
  /** Fields side by side, if there is room. */
  readonly columns?: boolean;
}

/** A dialog with a form. While the form is being sent, it cannot be sent again. */
export function FormDialog(props: FormDialogProps): ReactElement {
  const { submit, icon, danger = false, isReady = true, onSubmit, other, cancel = "Cancel", start, first, columns = false } = props;
  const { title, onClose, children, problem, wide = false } = props;
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  const send = async (how: () => void | Promise<void>): Promise<void> => {
    if (!isReady || form.current?.reportValidity() === false) return;
    setBusy(true);
    await how();
    setBusy(false);
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      problem={problem}
      wide={wide}
      footer={
        <>
          {start ?? (
            <Button look="quiet" onClick={onClose} data-first={first === "cancel" ? "" : undefined}>
              {cancel}
            </Button>
          )}
          {other !== undefined && (
            <Button disabled={isBusy || !isReady} onClick={() => void send(other.onSubmit)}>
              {other.label}
            </Button>
          )}
          <Button
            look={danger ? "danger" : "primary"}
            {...(icon === undefined ? {} : { icon })}
            type="submit"
            form={id}
            disabled={isBusy || !isReady}
            data-first={first === "submit" ? "" : undefined}
          >
            {submit}
          </Button>
        </>
      }
    >
      <form
        id={id}
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void send(onSubmit);
        }}
        className={columns ? "grid gap-4 p-4 sm:grid-cols-2" : "space-y-4 p-4"}
      >
        {children}
      </form>
    </Dialog>
  );
}
