// The server's side of the sign-in, as docs/dashboard.md describes it to whoever serves the page.

import type { IncomingMessage, ServerResponse } from "node:http";

/** Who may look. */
export interface SignInRules {
  /** Keys that are accepted, each with its role. */
  readonly keys?: Readonly<Record<string, "viewer" | "operator">>;
  readonly user?: { readonly name: string; readonly password: string; readonly role: "viewer" | "operator" };
}

const COOKIE = "millrace_session=of-the-test";

/** Answers session, login and logout; false for any other path. */
export function answerSignIn(rules: SignInRules, asked: string, incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  if (asked === "session") sendJson(outgoing, sessionOf(rules, incoming));
  else if (asked === "login") void login(rules, incoming, outgoing);
  else if (asked === "logout") outgoing.writeHead(204, { "Set-Cookie": `${COOKIE}; Max-Age=0; Path=/` }).end();
  else return false;
  return true;
}

function sessionOf({ keys, user }: SignInRules, { headers }: IncomingMessage): unknown {
  const signIn = user !== undefined ? "password" : keys !== undefined ? "key" : "none";
  if (signIn === "none") return { user: null, role: "operator", sign_in: signIn };
  if (user !== undefined && headers.cookie?.includes(COOKIE)) return { user: user.name, role: user.role, sign_in: signIn };
  return { user: null, role: keys?.[String(headers["x-api-key"])] ?? null, sign_in: signIn };
}

async function login({ user }: SignInRules, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of incoming) text += String(chunk);
  const { username, password } = JSON.parse(text) as { username: string; password: string };
  if (username !== user?.name || password !== user.password) outgoing.writeHead(401).end();
  else outgoing.writeHead(204, { "Set-Cookie": `${COOKIE}; HttpOnly; SameSite=Strict; Path=/` }).end();
}

function sendJson(outgoing: ServerResponse, body: unknown): void {
  outgoing.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
