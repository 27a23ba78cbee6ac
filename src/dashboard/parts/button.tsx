import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactElement, ReactNode } from "react";

const LOOKS = {
  primary: "bg-primary text-primary-foreground hover:brightness-110 font-medium",
  plain: "bg-secondary text-foreground hover:bg-accent border border-border",
  quiet: "text-muted-foreground hover:text-foreground hover:bg-accent",
  careful: "bg-secondary text-destructive hover:bg-accent border border-border",
  danger: "bg-destructive text-destructive-foreground hover:brightness-110 font-medium",
} as const;

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: keyof typeof LOOKS;
  readonly icon?: LucideIcon;
  readonly children?: ReactNode;
  /** Shown as a small key at the end. */
  readonly shortcut?: string;
}

/** A button with text, and an icon before it if it has one. */
export function Button({ look = "plain", icon: Icon, shortcut, children, className = "", ...rest }: ButtonProps): ReactElement {
  return (
    <button
      type="button"
      className={`inline-flex h-8 shrink-0 items-center justify-center gap-1.5 rounded-md px-2.5 text-sm whitespace-nowrap transition-colors disabled:opacity-50 ${LOOKS[look]} ${className}`}
      {...rest}
    >
      {Icon && <Icon aria-hidden className="size-3.5 shrink-0" />}
      {children}
      {shortcut !== undefined && (
        <span className="max-sm:hidden">
          <Key>{shortcut}</Key>
        </span>
      )}
    </button>
  );
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly icon: LucideIcon;
  /** What it does, for screen readers and as a tooltip. */
  readonly label: string;
}

/** A button with only an icon. */
export function IconButton({ icon: Icon, label, className = "", ...rest }: IconButtonProps): ReactElement {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-7 shrink-0 items-center justify-center rounded-md text-muted-foreground transition-colors hover:bg-accent hover:text-foreground disabled:opacity-50 ${className}`}
      {...rest}
    >
      <Icon aria-hidden className="size-4" />
    </button>
  );
}

/** A key of the keyboard. */
export function Key({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <kbd className="rounded border border-input bg-background/40 px-1 font-sans text-2xs leading-4 font-normal text-muted-foreground">
      {children}
    </kbd>
  );
}
