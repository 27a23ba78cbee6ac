import { X } from "lucide-react";
import { createContext, type ReactElement, type ReactNode, useContext, useId, useLayoutEffect, useRef, useState } from "react";
import { IconButton } from "./button.tsx";

const DialogElement = createContext<HTMLElement | null>(null);

/** The surrounding dialog, if any: popups must open inside it, because the rest of the page cannot be used. */
export function useDialogElement(): HTMLElement | undefined {
  return useContext(DialogElement) ?? undefined;
}

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** At the bottom, always visible. */
  readonly footer?: ReactNode;
  /** What went wrong; shown above the footer. */
  readonly problem?: string | undefined;
  readonly wide?: boolean;
  /** For dialogs whose content makes the title clear. */
  readonly hideTitle?: boolean;
}

/** The browser's own dialog: it keeps the focus, gives it back, and closes with Escape. It is open while it is rendered. */
export function Dialog({ title, onClose, children, footer, problem, wide = false, hideTitle = false }: DialogProps): ReactElement {
  const ref = useRef<HTMLDialogElement>(null);
  const [element, setElement] = useState<HTMLElement | null>(null);
  const titleId = useId();

  useLayoutEffect(() => {
    const dialog = ref.current;
    setElement(dialog);
    if (dialog !== null && !dialog.open) dialog.showModal();
    // The browser would focus the first button, which closes the dialog.
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
        // The dialog element itself is the backdrop; its content has other targets.
        if (event.target === ref.current) onClose();
      }}
      className={`appear m-auto max-h-[min(44rem,calc(100dvh-2rem))] w-[calc(100vw-2rem)] overflow-visible rounded-xl border bg-popover p-0 shadow-popover open:flex max-lg:max-h-[min(44rem,calc(100dvh-2rem-2*var(--toasts)))] max-sm:mb-[calc(0.5rem+var(--toasts))] max-sm:w-[calc(100vw-1rem)] ${wide ? "max-w-3xl lg:ml-[max(13rem,calc(50vw-24rem))]" : "max-w-lg"}`}
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
