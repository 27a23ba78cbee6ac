/** WHO LOOKS AT THE PAGE. Nobody in particular where the server asks for nothing; the holder of an API key; or a user with a session. */
import { MillraceError } from "../core/errors.ts";
import { PAGE_URL } from "./places.ts";
import { Watched } from "./watched.ts";

/** What is known of whoever looks. */
export interface Session {
  /** Who signed in; null for a key, and where nobody has to. */
  readonly user: string | null;
  /** A viewer sees no buttons that change something; the server would refuse them anyway. */
  readonly role: "viewer" | "operator";
  /** How one signs in here. */
  readonly signIn: "none" | "key" | "password";
  /** The server wants to know who asks before it answers. */
  readonly isRefused: boolean;
}

/** What the server says of a session. No role: it must be told first who asks. */
interface SessionAnswer {
  readonly user: string | null;
  readonly role: Session["role"] | null;
  readonly sign_in: Session["signIn"];
}

/** The session of this page. */
export const session = new Watched<Session>({ user: null, role: "operator", signIn: "none", isRefused: false });

const KEY = "millrace:key";
const ONLY_HERE = "millrace:signed-out-only-here";

/** The key that was typed in. It is kept for this tab, and gone with it. */
export function storedKey(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

/** Asks the server who this is. */
export async function readSession(): Promise<void> {
  const key = storedKey();
  try {
    const response = await send("session", { headers: { Accept: "application/json", ...(key === undefined ? {} : { "X-API-Key": key }) } });
    if (!response.ok) return;
    const { user, role, sign_in: signIn } = (await response.json()) as SessionAnswer;
    session.set({ user, role: role ?? "viewer", signIn, isRefused: role === null });
  } catch {
    // The server is away, or something before it answers: the page finds out by its first request, and says so.
  }
}

/** Signs in by name and password. Answers whether they were right; throws when that could not be asked. */
export async function signIn(username: string, password: string): Promise<boolean> {
  const headers = { "Content-Type": "application/json" };
  const response = await send("login", { method: "POST", headers, body: JSON.stringify({ username, password }) });
  if (response.status === 401 || response.status === 403) return false;
  if (response.status === 429) throw new Error("Too many tries. Wait a minute, then try again.");
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  sessionStorage.removeItem(ONLY_HERE);
  return true;
}

/** Uses an API key from now on, in this tab. Nothing that was read before is kept. */
export function adoptKey(key: string): void {
  sessionStorage.setItem(KEY, key);
  location.reload();
}

/** Forgets key and session. Throws when the session goes on. */
export async function signOut(): Promise<void> {
  sessionStorage.removeItem(KEY);
  if (session.get().user !== null) await endSession();
  location.reload();
}

/** The server takes the cookie away also when it cannot tell the others. What the page knows is gone then: it is said after the reload. */
async function endSession(): Promise<void> {
  const response = await send("logout", { method: "POST" });
  if (response.ok) return;
  const { code } = (await response.json().catch(() => ({}))) as { code?: string };
  if (code !== "store_unavailable") throw new Error(`The server answered ${response.status}.`);
  sessionStorage.setItem(ONLY_HERE, "true");
}

/** Whether the last sign-out of this tab ended the session in this browser only. */
export function signedOutOnlyHere(): boolean {
  return sessionStorage.getItem(ONLY_HERE) !== null;
}

/** Looks at an error of the API: one that says "who are you?" brings up the sign-in. */
export function noteRefusal(error: unknown): void {
  if (!(error instanceof MillraceError) || error.code !== "unauthorized") return;
  const before = session.get();
  session.set({ ...before, signIn: before.signIn === "none" ? "key" : before.signIn, isRefused: true });
}

function send(path: string, init: RequestInit): Promise<Response> {
  return fetch(new URL(path, PAGE_URL), { ...init, credentials: "same-origin", cache: "no-store" });
}
