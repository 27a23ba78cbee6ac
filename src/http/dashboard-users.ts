/** WHO MAY SIGN IN, from the settings of a server. Refuses settings with which anybody could. */
import { MillraceError } from "../core/errors.ts";
import { isLoopback } from "./admission.ts";
import type { DashboardUser } from "./sessions.ts";

/** The settings that matter here. */
export interface UserSettings {
  readonly environment: "development" | "production";
  readonly host: string;
  readonly apiKey: readonly string[];
  readonly dashboardUsername: string;
  readonly dashboardPassword: string | null;
  readonly dashboardViewerUsername: string;
  readonly dashboardViewerPassword: string | null;
}

/** The password that attackers try first. */
const WEAK_PASSWORD = "admin";

/**
 * The users of these settings. In development on a loopback address, with an API key but without a password, the operator's password is
 * admin. Throws `invalid_input` for a weak password, and for an address that other machines can reach without a password.
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
    if (password !== WEAK_PASSWORD || mayBeWeak) continue;
    throw refused(name, `${name} is too easy to guess: choose another, or set ENVIRONMENT=development and listen on 127.0.0.1`);
  }
  const users: DashboardUser[] = [];
  const password = dashboardPassword ?? (mayBeWeak && settings.apiKey.length > 0 ? WEAK_PASSWORD : null);
  if (password !== null) users.push({ name: dashboardUsername, password, role: "operator" });
  if (dashboardViewerPassword !== null) users.push({ name: dashboardViewerUsername, password: dashboardViewerPassword, role: "viewer" });
  if (users.length === 2 && dashboardUsername === dashboardViewerUsername) {
    throw refused("DASHBOARD_VIEWER_USERNAME", "DASHBOARD_VIEWER_USERNAME must differ from DASHBOARD_USERNAME");
  }
  return users;
}

function refused(field: string, message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}
