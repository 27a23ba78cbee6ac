import { Menu as Base } from "@base-ui/react/menu";
import { Check, type LucideIcon } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { useDialogElement } from "./dialog.tsx";

interface MenuProps {
  /** The button that opens it. */
  readonly trigger: ReactElement;
  readonly children: ReactNode;
}

export function Menu({ trigger, children }: MenuProps): ReactElement {
  const container = useDialogElement();
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal container={container}>
        <Base.Positioner sideOffset={4} align="end" className="z-40">
          <Base.Popup className="appear max-h-96 min-w-44 overflow-y-auto rounded-lg border bg-popover p-1 shadow-popover outline-none">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

const ITEM =
  "flex min-h-8 w-full cursor-default items-center gap-2 rounded-md px-2 text-left text-sm outline-none select-none data-highlighted:bg-accent data-disabled:opacity-50";

export function MenuItem({
  icon: Icon,
  danger = false,
  children,
  ...rest
}: {
  readonly icon?: LucideIcon;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <Base.Item className={`${ITEM} ${danger ? "text-destructive" : ""}`} {...rest}>
      {Icon && <Icon aria-hidden className="size-3.5 shrink-0 opacity-80" />}
      {children}
    </Base.Item>
  );
}

/** Switches something on or off; the menu stays open. */
export function MenuCheck({
  checked,
  onChange,
  children,
}: {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <Base.CheckboxItem className={ITEM} checked={checked} onCheckedChange={onChange} closeOnClick={false}>
      <span className="grid size-3.5 place-items-center">{checked && <Check aria-hidden className="size-3.5 text-primary" />}</span>
      {children}
    </Base.CheckboxItem>
  );
}

export function MenuLine(): ReactElement {
  return <Base.Separator className="mx-2 my-1 h-px bg-border" />;
}

/** A part of a menu, with a title. */
export function MenuGroup({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <Base.Group>
      <Base.GroupLabel className="px-2 py-1 text-2xs font-medium tracking-wide text-muted-foreground uppercase">{title}</Base.GroupLabel>
      {children}
    </Base.Group>
  );
}
