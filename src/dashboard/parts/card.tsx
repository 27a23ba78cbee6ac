import type { ReactElement, ReactNode } from "react";
import { useTitle } from "../title.ts";

interface CardProps {
  readonly title?: ReactNode;
  /** At the right end of the title line. */
  readonly aside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  /** Without padding, for tables. */
  readonly flush?: boolean;
}

export function Card({ title, aside, children, className = "", flush = false }: CardProps): ReactElement {
  return (
    <section className={`min-w-0 overflow-clip rounded-xl border bg-card ${className}`}>
      {title !== undefined && (
        <header className="flex min-h-11 items-center justify-between gap-3 border-b px-4 py-1.5">
          <h2 className="min-w-0 text-sm font-semibold break-words">{title}</h2>
          {aside !== undefined && <div className="shrink-0">{aside}</div>}
        </header>
      )}
      {flush ? children : <div className="p-4">{children}</div>}
    </section>
  );
}

/** The head of a page: its title, also that of the browser tab, a sentence, and actions. */
export function PageHead({
  title,
  children,
  actions,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}): ReactElement {
  useTitle(title);
  return (
    <div className="mb-4 flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
      <div className="min-w-0">
        <h1 className="text-lg font-semibold tracking-tight">{title}</h1>
        {children !== undefined && <p className="text-muted-foreground">{children}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </div>
  );
}
