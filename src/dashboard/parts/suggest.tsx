import { Autocomplete } from "@base-ui/react/autocomplete";
import { type ReactElement, useId, useState } from "react";
import { useDialogElement } from "./dialog.tsx";

interface SuggestProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Suggestions; anything else can be typed, too. */
  readonly items: readonly string[];
  readonly placeholder?: string;
  readonly problem?: string | undefined;
  /** Only screen readers see the label. */
  readonly compact?: boolean;
  /** Has the focus when the dialog around it opens. */
  readonly first?: boolean;
}

/** A text field with suggestions. */
export function Suggest({
  label,
  value,
  onChange,
  items,
  placeholder,
  problem,
  compact = false,
  first = false,
}: SuggestProps): ReactElement {
  const container = useDialogElement();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="min-w-0 space-y-1">
      <label htmlFor={id} className={compact ? "sr-only" : "block font-medium"}>
        {label}
      </label>
      <Autocomplete.Root items={items} value={value} onValueChange={onChange} open={isOpen} onOpenChange={setOpen} openOnInputClick>
        <Autocomplete.Input
          id={id}
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          data-first={first ? "" : undefined}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            // Keeps what was typed: Escape closes the list, and then the surrounding dialog, if any.
            event.preventBaseUIHandler();
            if (isOpen) event.preventDefault();
            setOpen(false);
          }}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : `${id}-problem`}
          className="h-8 w-full rounded-md border border-input bg-card px-2.5 aria-invalid:border-destructive"
        />
        {items.length > 0 && (
          <Autocomplete.Portal container={container}>
            <Autocomplete.Positioner sideOffset={4} align="start" className="z-40">
              <Autocomplete.Popup className="max-h-64 min-w-(--anchor-width) overflow-y-auto rounded-lg border bg-popover shadow-popover data-empty:hidden">
                <Autocomplete.List className="p-1 outline-none data-empty:p-0">
                  {(item: string) => (
                    <Autocomplete.Item
                      key={item}
                      value={item}
                      className="flex min-h-8 cursor-default items-center rounded-md px-2 data-highlighted:bg-accent"
                    >
                      {item}
                    </Autocomplete.Item>
                  )}
                </Autocomplete.List>
              </Autocomplete.Popup>
            </Autocomplete.Positioner>
          </Autocomplete.Portal>
        )}
      </Autocomplete.Root>
      {problem !== undefined && (
        <p id={`${id}-problem`} className="text-xs text-destructive">
          {problem}
        </p>
      )}
    </div>
  );
}
