import { X } from "lucide-react";
import { createContext, type ReactElement, type ReactNode, useContext, useId, useLayoutEffect, useRef, useState } from "react";
import { IconButton } from "./button.tsx";

const DialogElement = createContext<HTMLElement | null>(null);

/** The dialog around, if there is one: lists that pop up must open inside it, as all else is out of reach meanwhile. */
export function useDialogElement(): HTMLElement | undefined {
  return useContext(DialogElement) ?? undefined;
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Stands below, always in sight. */
  readonly footer?: ReactNode;
  /** What went wrong with what was typed; it stands above the footer. */
  readonly problem?: string | undefined;
  readonly wide?: boolean;
  /** For dialogs whose title is plain from what is in them. */
  readonly hideTitle?: boolean;
}

/** A dialog of the browser's own: it holds the focus, gives it back, and closes with Escape. Shown while it is drawn. */
export function Dialog({ title, onClose, children, footer, problem, wide = false, hideTitle = false }: DialogProps): ReactElement {
  const ref = useRef<HTMLDialogElement>(null);
  const [element, setElement] = useState<HTMLElement | null>(null);
  const titleId = useId();

  useLayoutEffect(() => {
    const dialog = ref.current;
    setElement(dialog);
    if (dialog !== null && !dialog.open) dialog.showModal();
    // The browser begins with the first button, which closes it.
    dialog?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => dialog?.close();
  }, []);

  return (
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        // On the dialog itself and not on what is in it: that is the backdrop.
        if (event.target === ref.current) onClose();
      }}
      className={`appear m-auto max-h-[min(44rem,calc(100dvh-2rem))] w-[calc(100vw-2rem)] overflow-visible rounded-xl border bg-popover p-0 shadow-popover open:flex max-sm:mb-2 max-sm:w-[calc(100vw-1rem)] ${wide ? "max-w-3xl" : "max-w-lg"}`}
    >
      <DialogElement.Provider value={element}>
        <div className="flex min-h-0 w-full flex-col">
          <header className={hideTitle ? "sr-only" : "flex items-center justify-between gap-3 border-b py-2 pr-2 pl-4"}>
            <h2 id={titleId} className="text-base font-semibold">
              {title}
            </h2>
            {!hideTitle && <IconButton icon={X} label="Close" onClick={onClose} />}
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto">{children}</div>
          <div role="alert">
            {problem !== undefined && (
              <p className="max-h-32 overflow-y-auto border-t border-destructive/40 bg-destructive/10 px-4 py-2 break-words">{problem}</p>
            )}
          </div>
          {footer !== undefined && <footer className="flex flex-wrap items-center justify-end gap-2 border-t px-4 py-3">{footer}</footer>}
        </div>
      </DialogElement.Provider>
    </dialog>
  );
}
