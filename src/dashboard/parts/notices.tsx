/** Shown instead of data: loading, nothing to show, or an error. */
import { CircleAlert, type LucideIcon, RefreshCw } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { MillraceError } from "../../core/errors.ts";
import { Button } from "./button.tsx";

/** Nothing to show, which is no error. */
export function Empty({
  icon: Icon,
  title,
  isPage = false,
  children,
  action,
}: {
  readonly icon: LucideIcon;
  readonly title: string;
  /** It is all that the page has: its title is the heading of the page. */
  readonly isPage?: boolean;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}): ReactElement {
  const Title = isPage ? "h1" : "p";
  return (
    <div className="flex flex-col items-center gap-1 px-6 py-12 text-center">
      <span className="mb-2 grid size-10 place-items-center rounded-full bg-muted text-muted-foreground">
        <Icon aria-hidden className="size-5" />
      </span>
      <Title className="font-medium">{title}</Title>
      {children !== undefined && <div className="max-w-md text-muted-foreground">{children}</div>}
      {action !== undefined && <div className="mt-3">{action}</div>}
    </div>
  );
}

/** Placeholder lines while data is loaded. */
export function Skeleton({ lines = 5 }: { readonly lines?: number }): ReactElement {
  return (
    <div role="status" className="space-y-3 p-4">
      <span className="sr-only">Loading…</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} aria-hidden className={`h-4 animate-pulse rounded bg-muted ${["w-full", "w-5/6", "w-11/12", "w-3/4"][line % 4]}`} />
      ))}
    </div>
  );
}

/** Why the data could not be loaded, and a button to try again. */
export function Trouble({ error, retry }: { readonly error: unknown; readonly retry?: () => void }): ReactElement {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-6">
      <CircleAlert aria-hidden className="size-5 text-destructive" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">This could not be loaded.</p>
        <p className="break-words text-muted-foreground">{messageOf(error)}</p>
      </div>
      {retry !== undefined && (
        <Button icon={RefreshCw} onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** The message of an error, as a sentence. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  const hint =
    error instanceof MillraceError && error.code === "forbidden" ? " Sign in as an operator, or with a key that has that scope." : "";
  return `${sentence}${/[.!?]$/.test(sentence) ? "" : "."}${hint}`;
}

/** The data, or the skeleton, or the error. Data stays while it is fetched again, even if that fails. */
export function Loaded<Data>({
  result,
  lines,
  children,
}: {
  readonly result: { readonly data: Data | undefined; readonly error: unknown; readonly refetch: () => unknown };
  readonly lines?: number;
  readonly children: (data: Data) => ReactNode;
}): ReactNode {
  if (result.data !== undefined) return children(result.data);
  if (result.error !== null) return <Trouble error={result.error} retry={() => void result.refetch()} />;
  return lines === undefined ? <Skeleton /> : <Skeleton lines={lines} />;
}
