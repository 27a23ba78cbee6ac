/**
 * WHERE A REQUEST FALLS below the mount path of a server. Frameworks that remove the mount path from `url` keep the whole one in
 * `originalUrl`, as Express does. Adapters of other frameworks do the same, so that the rest of the server need not know them.
 */
import type { IncomingMessage } from "node:http";

/** A request of Node, with what frameworks add to it. */
export interface MountedRequest extends IncomingMessage {
  originalUrl?: string;
  /** The body, if the application has read it. */
  body?: unknown;
}

/** What a fetch handler may get besides the request. */
export interface FetchEnv {
  /** Node's request. Servers for fetch handlers on Node pass it on. */
  readonly incoming?: MountedRequest | undefined;
  /** Whether the application passed on Node's request, and we made a Request of it. */
  readonly isFromNode?: boolean | undefined;
  /** The whole path, if the request was changed to one below the mount. */
  readonly wholePath?: string | undefined;
}

/** What follows the base path in a URL or path; null if that is outside. */
function below(basePath: string, url: string): string | null {
  if (!url.startsWith(basePath)) return null;
  const rest = url.slice(basePath.length);
  if (rest === "" || rest.startsWith("?")) return `/${rest}`;
  return rest.startsWith("/") ? rest : null;
}

/** What follows the base path in the URL of a request; null if it is outside. The framework may have removed the base path already. */
export function urlBelow(basePath: string, { url = "/", originalUrl = url }: MountedRequest): string | null {
  if (basePath === "") return url;
  return below(basePath, originalUrl) ?? below(basePath, url);
}

/** Changes the URL of a request to what follows the base path. */
export function enter(incoming: MountedRequest, inside: string): void {
  incoming.originalUrl ??= incoming.url ?? "/";
  incoming.url = inside;
}

/** The request with the path that follows the base path; null if it is outside. */
export function requestBelow(basePath: string, request: Request, env: FetchEnv | undefined): [Request, FetchEnv] | null {
  const url = new URL(request.url);
  const wholePath = wholePathOf(request, env);
  const inside = below(basePath, wholePath) ?? below(basePath, url.pathname);
  return inside === null ? null : atPath(request, env, inside, wholePath);
}

/** The same request for another path. */
export function atPath(request: Request, env: FetchEnv | undefined, path: string, wholePath: string): [Request, FetchEnv] {
  const url = new URL(request.url);
  url.pathname = path;
  const moved = new Request(url, request);
  noteOriginal(moved, originalOf(request));
  return [moved, { ...env, wholePath }];
}

/** The path as it arrived, with the mount. */
export function wholePathOf(request: Request, env: FetchEnv | undefined): string {
  if (env?.wholePath !== undefined) return env.wholePath;
  const url = env?.incoming?.originalUrl ?? env?.incoming?.url;
  return url === undefined ? new URL(request.url).pathname : url.replace(/\?.*$/s, "");
}

/**
 * Whether a path means another one than it shows: a URL parser removes its `.` and `..` steps, and our router decodes its letters. The application's
 * middleware may have looked at the path as it is and let it pass: /health/%2e%2e/api/v1/jobs begins with /health. Browsers and clients of HTTP
 * send no such path.
 */
export function isDisguised(path: string): boolean {
  return /\\|%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f)|\/\.\.?(?:\/|$)/i.test(path);
}

/** Requests as the application's own handlers get them, by those that we made of them. */
const originals = new WeakMap<object, unknown>();

export function noteOriginal(request: object, original: unknown): void {
  originals.set(request, original);
}

export function originalOf(request: object): unknown {
  return originals.get(request) ?? request;
}
