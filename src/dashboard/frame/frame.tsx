/** The frame around every page: navigation, bar, and overlays. */
import { Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactElement, Suspense, useEffect, useRef } from "react";
import { useShortcuts } from "../keyboard.ts";
import { isPaused } from "../paused.ts";
import { closeOverlay, overlay } from "../overlay.ts";
import { session } from "../session.ts";
import { THEMES, useTheme } from "../theme.ts";
import { useWatched } from "../use-watched.ts";
import { BulkStrip } from "./bulk-strip.tsx";
import { Confirm } from "./confirm.tsx";
import { ConnectionStrip } from "./connection-strip.tsx";
import { useDeadAlerts } from "./dead-alerts.ts";
import { useJobToasts } from "./job-toasts.ts";
import { Nav, PAGES } from "./nav.tsx";
import { Palette } from "./palette.tsx";
import { SignIn } from "./sign-in.tsx";
import { ToastList } from "./toast-list.tsx";
import { TopBar } from "./top-bar.tsx";

const ShortcutSheet = lazy(() => import("./shortcut-sheet.tsx"));
const EnqueueDialog = lazy(() => import("../enqueue/enqueue-dialog.tsx"));
const EditDialog = lazy(() => import("../enqueue/edit-dialog.tsx"));
const SignalDialog = lazy(() => import("../enqueue/signal-dialog.tsx"));

export function Frame(): ReactElement {
  const { isRefused } = useWatched(session);
  const [theme, setTheme] = useTheme();
  const navigate = useNavigate();
  useJobToasts();
  useDeadAlerts();
  useShortcuts({
    ...Object.fromEntries(PAGES.map(({ key, to }) => [`g ${key}`, () => void navigate({ to: to ?? "/" })])),
    "Mod+k": () => overlay.set({ kind: "palette" }),
    "?": () => overlay.set({ kind: "shortcuts" }),
    e: () => {
      if (session.get().role === "operator") overlay.set({ kind: "enqueue" });
    },
    l: () => isPaused.set(!isPaused.get()),
    t: () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "dark"),
    "/": () => document.querySelector<HTMLElement>("[data-search]")?.focus(),
  });
  if (isRefused) return <SignIn />;
  return (
    <div className="flex min-h-dvh max-sm:flex-col">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-primary px-3 py-1.5 text-primary-foreground focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        Skip to content
      </a>
      <Nav />
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar />
        <ConnectionStrip />
        <BulkStrip />
        <Content />
      </div>
      <Overlays />
      <Confirm />
      <ToastList />
    </div>
  );
}

/** The page. A new page gets the focus, so that screen readers announce it. */
function Content(): ReactElement {
  const { pathname } = useLocation();
  const ref = useRef<HTMLElement>(null);
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    ref.current?.focus({ preventScroll: true });
  }, [pathname]);
  return (
    <main
      id="content"
      ref={ref}
      tabIndex={-1}
      className="mx-auto w-full max-w-[100rem] flex-1 p-4 outline-none max-lg:pb-[calc(1rem+var(--toasts))] max-sm:pb-[calc(5rem+var(--toasts))] sm:px-6 sm:pt-5"
    >
      <Outlet />
    </main>
  );
}

function Overlays(): ReactElement | null {
  const open = useWatched(overlay);
  if (open === null) return null;
  return (
    <Suspense>
      {open.kind === "palette" && <Palette />}
      {open.kind === "shortcuts" && <ShortcutSheet onClose={closeOverlay} />}
      {open.kind === "enqueue" && <EnqueueDialog draft={open.draft} onClose={closeOverlay} />}
      {open.kind === "edit" && <EditDialog job={open.job} onClose={closeOverlay} />}
      {open.kind === "signal" && <SignalDialog job={open.job} name={open.name} onClose={closeOverlay} />}
    </Suspense>
  );
}
