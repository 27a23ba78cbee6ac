/** Tells of new dead jobs while the page is in the background: a desktop notification, and a dot on the icon of the tab. Off by default. */
import { useEffect } from "react";
import { counted } from "../../core/counted.ts";
import { client } from "../api.ts";
import { PAGE_URL } from "../places.ts";
import { usePreference } from "../preferences.ts";
import { toast } from "../toasts.ts";

/** A page in the background has no live updates. Browsers may slow this down to once a minute. */
const LOOK_MS = 10_000;

export function useDeadAlerts(): void {
  const [isWanted] = usePreference("deadAlerts");
  useEffect(() => {
    if (!isWanted) return;
    let known: number | null = null;
    const look = async (): Promise<void> => {
      // Not the number of all dead jobs: those of muted errors raise no alert.
      const deadCount = (await client.attention()).find(({ code }) => code === "dead_jobs")?.count ?? 0;
      const more = deadCount - (known ?? deadCount);
      known = deadCount;
      if (more > 0 && document.hidden) announce(more, deadCount);
    };
    const lookAgain = (): void => {
      // The page says by itself that the server is away.
      look().catch(() => {});
    };
    const onSeen = (): void => {
      if (!document.hidden) showDot(false);
    };
    lookAgain();
    const timer = window.setInterval(lookAgain, LOOK_MS);
    document.addEventListener("visibilitychange", onSeen);
    return () => {
      window.clearInterval(timer);
      document.removeEventListener("visibilitychange", onSeen);
      showDot(false);
    };
  }, [isWanted]);
}

/** Asks the browser, which asks the user. Returns whether notifications may be shown. */
export async function mayNotify(): Promise<boolean> {
  const isAllowed = "Notification" in window && (await Notification.requestPermission()) === "granted";
  if (!isAllowed) toast("This browser does not allow notifications from this page.", { kind: "failed" });
  return isAllowed;
}

function announce(more: number, all: number): void {
  showDot(true);
  // Not "new": when a mute ends, old jobs need review again.
  const notification = new Notification(`${counted(more, "more dead job needs", "more dead jobs need")} review`, {
    body: `${counted(all, "dead job")} in all`,
    tag: "millrace-dead",
  });
  notification.addEventListener("click", () => window.focus());
}

function showDot(isOn: boolean): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (icon !== null) icon.href = new URL(isOn ? "icon-alert.svg" : "icon.svg", PAGE_URL).href;
}
