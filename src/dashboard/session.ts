/** WHO USES THE PAGE: anybody, if the server needs no sign-in; the holder of an API key; a user with a session; or a user of the application around it. */
import { MillraceError } from "../core/errors.ts";
import { PAGE_URL } from "./places.ts";
import { useWatched } from "./use-watched.ts";
import { Watched } from "./watched.ts";

export interface Session {
  /** Who signed in; null for a key, and where no sign-in is needed. */
  readonly user: string | null;
  /** A viewer sees no buttons that change something; the server would refuse them anyway. */
  readonly role: "viewer" | "operator";
  /** How to sign in; `application`: not on this page. */
  readonly signIn: "none" | "key" | "password" | "application";
  /** The server answers only after a sign-in. */
  readonly isRefused: boolean;
}

/** The server's answer. No role: sign in first. */
interface SessionAnswer {
  readonly user: string | null;
  readonly role: Session["role"] | null;
  readonly sign_in: Session["signIn"];
}

export const session = new Watched<Session>({ user: null, role: "operator", signIn: "none", isRefused: false });

export function useIsOperator(): boolean {
  return useWatched(session).role === "operator";
}

const KEY = "millrace:key";
const ONLY_HERE = "millrace:signed-out-only-here";

/** The key that was typed in. It is kept for this tab only. */
export function storedKey(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

export async function readSession(): Promise<void> {
  const key = storedKey();
  try {
    const response = await send("session", { headers: { Accept: "application/json", ...(key === undefined ? {} : { "X-API-Key": key }) } });
    if (!response.ok) return;
    const { user, role, sign_in: signIn } = (await response.json()) as SessionAnswer;
    session.set({ user, role: role ?? "viewer", signIn, isRefused: role === null });
  } catch {
    // The server is away, or a proxy answered: the page's first request will show it.
  }
}

/** Signs in. Returns whether name and password were right; throws if the server could not tell. */
export async function signIn(username: string, password: string): Promise<boolean> {
  const headers = { "Content-Type": "application/json" };
  const response = await send("login", { method: "POST", headers, body: JSON.stringify({ username, password }) });
  if (response.status === 401 || response.status === 403) return false;
  if (response.status === 429) throw new Error("Too many failed sign-ins. Wait a minute, then try again.");
  if (!response.ok) throw new Error(`The server answered with status ${response.status}.`);
  sessionStorage.removeItem(ONLY_HERE);
  return true;
}

/** Uses an API key from now on, in this tab. Drops all data that was loaded before. */
export function adoptKey(key: string): void {
  sessionStorage.setItem(KEY, key);
  location.reload();
}

/** Forgets key and session. Throws if the session has not ended. */
export async function signOut(): Promise<void> {
  sessionStorage.removeItem(KEY);
  if (session.get().user !== null) await endSession();
  location.reload();
}

/** The server removes the cookie even if it cannot end the session on other servers. The page says so after its reload. */
async function endSession(): Promise<void> {
  const response = await send("logout", { method: "POST" });
  if (response.ok) return;
  const { code } = (await response.json().catch(() => ({}))) as { code?: string };
  if (code !== "store_unavailable") throw new Error(`The server answered with status ${response.status}.`);
  sessionStorage.setItem(ONLY_HERE, "true");
}

/** Whether the last sign-out of this tab ended the session in this browser only. */
export function signedOutOnlyHere(): boolean {
  return sessionStorage.getItem(ONLY_HERE) !== null;
}

/** Shows the sign-in after an `unauthorized` error. */
export function noteRefusal(error: unknown): void {
  if (!(error instanceof MillraceError) || error.code !== "unauthorized") return;
  const before = session.get();
  session.set({ ...before, signIn: before.signIn === "none" ? "key" : before.signIn, isRefused: true });
}

function send(path: string, init: RequestInit): Promise<Response> {
  return fetch(new URL(path, PAGE_URL), { ...init, credentials: "same-origin", cache: "no-store" });
}
