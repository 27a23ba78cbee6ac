/** Events, metrics, health and the reference. */
import { MillraceError } from "../../core/errors.ts";
import type { systemRoutes } from "../contract/system.ts";
import { DOCS_HEADERS, docsPage } from "../docs-page.ts";
import { openApiText } from "../openapi.ts";
import { type Handlers, ok, RawReply, type Reply, type RouteParts } from "../route-input.ts";
import type { Hub } from "../live/hub.ts";
import { liveSocket, liveStream } from "./events.ts";

type Health = Reply<{ status: "ok" | "unavailable" }>;

export interface SystemParts extends RouteParts {
  readonly version: string;
  readonly hub: Hub;
  /** Whether this process can work. */
  readonly isReady: () => Promise<boolean>;
  /** The same, by what is already known: it does not wait for the store. */
  readonly isWell: () => Promise<boolean>;
  readonly figures?: Figures | undefined;
}

/** What GET /metrics shows. */
export interface Figures {
  /** The media type of the text. */
  readonly textType: string;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

export function systemHandlers(parts: SystemParts): Handlers<keyof typeof systemRoutes> {
  const health = (isGood: boolean): Health => (isGood ? ok({ status: "ok" }) : { status: 503, body: { status: "unavailable" } });
  return {
    "GET /api/v1/events": (input) => liveStream(parts, input),
    "GET /api/v1/ws": (input) => liveSocket(parts, input),
    "GET /metrics": async ({ call }) => {
      if (parts.figures === undefined) throw new MillraceError("not_found", "this server has no metrics");
      const isJson = call.header("accept")?.includes("application/json") === true;
      if (isJson) return new RawReply("application/json", JSON.stringify(await parts.figures.json()));
      return new RawReply(parts.figures.textType, await parts.figures.text());
    },
    "GET /health": async () => health(await parts.isWell()),
    "GET /health/live": () => ok({ status: "ok" }),
    "GET /health/ready": async () => health(await parts.isReady()),
    "GET /openapi.json": () => new RawReply("application/json", openApiText(parts.version)),
    "GET /docs": () => new RawReply("text/html; charset=utf-8", docsPage(), DOCS_HEADERS),
  };
}
