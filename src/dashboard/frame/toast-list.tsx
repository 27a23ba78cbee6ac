import { CircleAlert, CircleCheck, Radio, X } from "lucide-react";
import { type CSSProperties, type ReactElement, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button, IconButton } from "../parts/button.tsx";
import { dismiss, type Toast, toasts } from "../toasts.ts";
import { useWatched } from "../use-watched.ts";
import { NAV_HEIGHT } from "./nav.tsx";

const SHOWN_MS = { done: 5000, news: 6000, failed: 12_000 };
const ICONS = { done: CircleCheck, news: Radio, failed: CircleAlert };
const COLOURS = { done: "text-primary", news: "text-scheduled", failed: "text-destructive" };

/**
 * Messages. They cover no controls: on a wide screen they are below the navigation, where nothing else is; elsewhere they are a strip of their own
 * at the lower edge, and the page ends above it (`--toasts`): everything can be scrolled there, and what gets the focus is. Screen readers read
 * them; they stay while the pointer is on them.
 */
export function ToastList(): ReactElement {
  const shown = useWatched(toasts);
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // Shown again, so that messages are above a dialog that has opened since.
    place.current?.hidePopover();
    place.current?.showPopover();
    const top = place.current?.getBoundingClientRect().top ?? 0;
    leaveRoom(shown.length === 0 ? 0 : Math.ceil(innerHeight - top));
  });
  return (
    <div
      ref={place}
      popover="manual"
      role="region"
      aria-label="Messages"
      aria-live="polite"
      style={{ "--nav": NAV_HEIGHT } as CSSProperties}
      className={`fixed inset-auto m-0 flex flex-col justify-end gap-2 border-0 bg-transparent p-0 text-foreground max-lg:right-0 max-lg:bottom-0 max-lg:left-0 max-lg:w-auto max-sm:bottom-[calc(3.5rem+1px+env(safe-area-inset-bottom))] sm:max-lg:left-14 lg:pointer-events-none lg:bottom-4 lg:left-2 lg:max-h-[calc(100dvh-var(--nav)-1.25rem)] lg:w-48 lg:overflow-hidden ${shown.length === 0 ? "" : "max-lg:border-t max-lg:bg-background max-lg:px-4 max-lg:py-2"}`}
    >
      {shown.map((toast) => (
        <ToastItem key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

/** The page ends that much higher. If its end or what has the focus is in view, it stays in view. */
function leaveRoom(height: number): void {
  const page = document.documentElement;
  const isAtEnd = page.scrollTop + page.clientHeight >= page.scrollHeight - 1;
  const focused = document.querySelector("#content :focus");
  const { top = -1, bottom = -1 } = focused?.getBoundingClientRect() ?? {};
  page.style.setProperty("--toasts", `${height}px`);
  if (isAtEnd) page.scrollTop = page.scrollHeight;
  else if (top >= 0 && bottom <= innerHeight) focused?.scrollIntoView({ block: "nearest" });
}

function ToastItem({ toast }: { readonly toast: Toast }): ReactElement {
  const [isHeld, setHeld] = useState(false);
  const { id, kind, text, undo } = toast;
  useEffect(() => {
    if (isHeld) return;
    const timer = window.setTimeout(() => dismiss(id), SHOWN_MS[kind]);
    return () => window.clearTimeout(timer);
  }, [id, kind, isHeld]);
  const Icon = ICONS[kind];
  return (
    <div
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      data-toast={kind}
      className="appear pointer-events-auto flex items-center gap-2.5 rounded-lg lg:flex-wrap border bg-popover py-1.5 pr-1.5 pl-3 shadow-popover"
    >
      <Icon aria-hidden className={`size-4 shrink-0 ${COLOURS[kind]}`} />
      <div className="min-w-0 flex-1 basis-24 py-1 break-words">{text}</div>
      {undo !== undefined && (
        <Button
          look="quiet"
          className="lg:order-last lg:ml-4"
          onClick={() => {
            dismiss(id);
            undo();
          }}
        >
          Undo
        </Button>
      )}
      <IconButton icon={X} label="Dismiss" onClick={() => dismiss(id)} />
    </div>
  );
}
