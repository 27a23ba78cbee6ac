/** WHO MAY SIGN IN to a server that is put together from settings, and when such settings are refused because anybody could. */
import { MillraceError } from "../core/errors.ts";
import { isLoopback } from "./gate.ts";
import type { DashboardUser } from "./sessions.ts";

/** What the settings say about it. */
export interface UserSettings {
  readonly environment: "development" | "production";
  readonly host: string;
  readonly apiKey: readonly string[];
  readonly dashboardUsername: string;
  readonly dashboardPassword: string | null;
  readonly dashboardViewerUsername: string;
  readonly dashboardViewerPassword: string | null;
}

/** The password that everybody tries first. */
const KNOWN_TO_ALL = "admin";

/**
 * The users that these settings name. In development on this machine that is at least admin with the password admin, where there is a key to
 * sign in at all. Throws `invalid_input` for a password that everybody knows, and for an address that others can reach without any.
 */
export function dashboardUsers(settings: UserSettings): DashboardUser[] {
  const { dashboardUsername, dashboardPassword, dashboardViewerUsername, dashboardViewerPassword } = settings;
  const isLocal = isLoopback(settings.host);
  const mayBeWeak = isLocal && settings.environment === "development";
  if (!isLocal && dashboardPassword === null) {
    const missing = settings.apiKey.length === 0 ? "API_KEY and DASHBOARD_PASSWORD" : "DASHBOARD_PASSWORD, or DASHBOARD_ENABLED=false";
    throw refused("DASHBOARD_PASSWORD", `host ${settings.host} can be reached from other machines: set ${missing}, or listen on 127.0.0.1`);
  }
  for (const [name, password] of [
    ["DASHBOARD_PASSWORD", dashboardPassword],
    ["DASHBOARD_VIEWER_PASSWORD", dashboardViewerPassword],
  ] as const) {
    if (password !== KNOWN_TO_ALL || mayBeWeak) continue;
    throw refused(name, `${name} is one that everybody tries: choose another, or set ENVIRONMENT=development on 127.0.0.1`);
  }
  const users: DashboardUser[] = [];
  const password = dashboardPassword ?? (mayBeWeak && settings.apiKey.length > 0 ? KNOWN_TO_ALL : null);
  if (password !== null) users.push({ name: dashboardUsername, password, role: "operator" });
  if (dashboardViewerPassword !== null) users.push({ name: dashboardViewerUsername, password: dashboardViewerPassword, role: "viewer" });
  if (users.length === 2 && dashboardUsername === dashboardViewerUsername) {
    throw refused("DASHBOARD_VIEWER_USERNAME", "DASHBOARD_VIEWER_USERNAME must be another name than DASHBOARD_USERNAME");
  }
  return users;
}

function refused(field: string, message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}
